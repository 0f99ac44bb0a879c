"""An S3 server for tests: moto's, which checks signatures. It ends when its standard input is closed.

Prints a line of JSON as soon as it serves: endpoint, bucket and credential. Each further line of its input is the status
that all later requests get, such as 503, or 0 for none.
"""

import json
import logging
import sys
import time
from calendar import timegm
from urllib.parse import parse_qsl, urlencode, urlsplit

import boto3
from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto import settings
from moto.s3.exceptions import S3SignatureDoesNotMatchError
from moto.s3.responses import S3Response
from moto.server import DomainDispatcherApplication, ThreadedMotoServer

BUCKET = "media"
ALLOWED = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}],
}
forced_status = 0


def main():
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    served = DomainDispatcherApplication.__call__

    def serve(self, environ, start_response):
        if forced_status:
            start_response(f"{forced_status} Forced", [("content-length", "0")])
            return [b""]
        return served(self, environ, start_response)

    DomainDispatcherApplication.__call__ = serve
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    credential = prepare(endpoint)
    settings.INITIAL_NO_AUTH_ACTION_COUNT = 0
    check_presigned_urls(credential)
    print(json.dumps({"endpoint": endpoint, "bucket": BUCKET, **credential}), flush=True)
    force_statuses()
    server.stop()


def prepare(endpoint):
    """Creates the bucket, and a user whose signatures are checked."""

    def client(service):
        return boto3.client(
            service,
            endpoint_url=endpoint,
            region_name="us-east-1",
            aws_access_key_id="anybody",
            aws_secret_access_key="anything",
        )

    client("s3").create_bucket(Bucket=BUCKET)
    iam = client("iam")
    iam.create_user(UserName="headgate")
    iam.put_user_policy(
        UserName="headgate", PolicyName="s3", PolicyDocument=json.dumps(ALLOWED)
    )
    key = iam.create_access_key(UserName="headgate")["AccessKey"]
    return {
        "access_key_id": key["AccessKeyId"],
        "secret_access_key": key["SecretAccessKey"],
    }


def check_presigned_urls(credential):
    """moto checks the signatures of headers only."""
    key = Credentials(credential["access_key_id"], credential["secret_access_key"])
    check_headers = S3Response._authenticate_and_authorize_s3_action

    def check(self, *names, **named):
        url = urlsplit(self.uri)
        query = dict(parse_qsl(url.query, keep_blank_values=True))
        signature = query.pop("X-Amz-Signature", None)
        if signature is None:
            return check_headers(self, *names, **named)
        plain = url._replace(query=urlencode(query)).geturl()
        request = AWSRequest(method=self.method, url=plain)
        request.context["timestamp"] = query["X-Amz-Date"]
        auth = S3SigV4QueryAuth(key, "s3", "us-east-1")
        text = auth.string_to_sign(request, auth.canonical_request(request))
        signed = timegm(time.strptime(query["X-Amz-Date"], "%Y%m%dT%H%M%SZ"))
        is_late = time.time() > signed + int(query["X-Amz-Expires"])
        if is_late or auth.signature(text, request) != signature:
            raise S3SignatureDoesNotMatchError()
        return None

    S3Response._authenticate_and_authorize_s3_action = check


def force_statuses():
    global forced_status
    for line in sys.stdin:
        forced_status = int(line)
        print(f"forced {forced_status}", flush=True)


if __name__ == "__main__":
    main()
