"""Tests of deliveries to a callback URL: real ones of the running demo, verified by libraries that receivers use."""

import json
import urllib.request

import standardwebhooks
import svix

from demo import BASE_URL, KEY, VIDEO_A, simulate
from runner import cases, contains, equal, holds, raised
from webhook_receiver import NEW_SECRET, OLD_SECRET, OTHER_SECRET, Receiver

def delivered():
    """The two deliveries of a new task: that it runs, and that it has succeeded."""
    receiver = Receiver()
    url = receiver.url("/done?for=me")
    create = {"model": VIDEO_A, "prompt": "A gate opens", "duration": 5, "callback_url": url}
    headers = {
        "content-type": "application/json",
        "authorization": f"Bearer {KEY}",
        **simulate("queue=1s;run=6s"),
    }
    request = urllib.request.Request(f"{BASE_URL}/v1/video/generations", json.dumps(create).encode(), headers)
    with urllib.request.urlopen(request, timeout=10) as made:
        task = json.loads(made.read())["task_id"]
    return task, receiver.wait_for(2)


@cases(
    standardwebhooks=(standardwebhooks.Webhook, standardwebhooks.WebhookVerificationError),
    svix=(svix.Webhook, svix.WebhookVerificationError),
)
def real_deliveries_are_verified_with_either_secret_and_nothing_else(webhook, verification_error):
    task, deliveries = delivered()
    verified = 0
    for (headers, body), status in zip(deliveries, ["running", "succeeded"]):
        equal("the number of signatures", len(headers["webhook-signature"].split()), 2)
        contains("the id", headers["webhook-id"], "evt_")
        for secret in [NEW_SECRET, OLD_SECRET]:
            webhook(secret).verify(body, headers)
            verified += 1
        event = json.loads(body)
        equal("the task", event["task_id"], task)
        equal("the status", event["status"], status)
        for secret, altered_body, altered_headers in [
            (OTHER_SECRET, body, {}),
            (NEW_SECRET, body.replace(b"task_id", b"task_ID"), {}),
            (NEW_SECRET, body, {"webhook-id": "evt_0"}),
            (NEW_SECRET, body, {"webhook-timestamp": str(int(headers["webhook-timestamp"]) - 600)}),
        ]:
            raised(
                verification_error,
                lambda: webhook(secret).verify(altered_body, {**headers, **altered_headers}),
            )
    ids = {headers["webhook-id"] for headers, _ in deliveries}
    holds("each event has an id of its own", len(ids) == len(deliveries), ids)
    print(f"python webhooks: {len(deliveries)} deliveries, {verified} verifications by {webhook.__module__.split('.')[0]}")
