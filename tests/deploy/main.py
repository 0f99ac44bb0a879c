"""Tests the files of deploy with helm, the schemas of Kubernetes, docker-compose, promtool, systemd-analyze and the gateway.

HEADGATE_PROGRAM is the path of the gateway, HELM that of helm.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import kubernetes_validate
import yaml

from benchmark import BenchmarkEntryTest  # noqa: F401  a test of this module
from gateway import Gateway
from package import PackageTest  # noqa: F401  a test of this module

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy/helm/headgate"
COMPOSE = ROOT / "deploy/compose"
UNIT = ROOT / "deploy/headgate.service"
# The version of Kubernetes whose schemas objects must satisfy.
KUBERNETES = "1.33"
# Kinds of the Prometheus operator, which Kubernetes has no schemas of.
FOREIGN_KINDS = {"ServiceMonitor", "PrometheusRule"}

CONFIG = {
    "callers": [{"name": "app", "key_sha256": "${APP_KEY_SHA256}", "models": ["*"]}],
    "channels": {
        "provider": {
            "base_url": "http://127.0.0.1:9/v1",
            "credential": {"bearer": "${PROVIDER_KEY}"},
            "protocols": ["chat"],
            "models": {"fast": "provider-fast"},
        }
    },
    "routes": [
        {
            "name": "chat",
            "match": "POST /v1/chat/completions",
            "protocol": "chat",
            "request": ["require_json", "authenticate", "route_model", "validate"],
            "response": ["pass_sse", "meter_usage"],
        }
    ],
}
ENVIRONMENT = {
    "APP_KEY_SHA256": "f77894fdfa58e447c57e077eaa9708e8e009c84dc6aba2db80461275e9b85be7",
    "PROVIDER_KEY": "sk-provider",
    "REDIS_URL": "redis://127.0.0.1:6379/0",
}
ADMIN_KEY = {"name": "ops", "key_sha256": "a" * 64, "role": "act"}

# Values that change what is rendered, each with the kinds that it adds to those of the defaults.
VARIANTS = {
    "defaults": ({}, set()),
    "one replica, no policies": (
        {"replicas": 1, "networkPolicy": {"enabled": False}, "podDisruptionBudget": {"enabled": False}},
        set(),
    ),
    "autoscaling and Redis": (
        {"autoscaling": {"enabled": True}, "redisUrlVariable": "REDIS_URL", "secrets": ["keys"]},
        {"HorizontalPodAutoscaler"},
    ),
    "monitoring": (
        {"serviceMonitor": {"enabled": True}, "prometheusRule": {"enabled": True}},
        {"ServiceMonitor", "PrometheusRule"},
    ),
    "TLS, admin keys and placement": (
        {
            "tlsSecret": "certificate",
            "admin": {"keys": [ADMIN_KEY], "hosts": ["ops.example.com"]},
            "service": {"type": "LoadBalancer", "port": 443, "annotations": {"a": "b"}},
            "networkPolicy": {
                "from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}],
                "adminFrom": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}],
            },
            "nodeSelector": {"disk": "ssd"},
            "tolerations": [{"key": "gate", "operator": "Exists"}],
            "podLabels": {"team": "gate"},
            "podAnnotations": {"a": "b"},
            "imagePullSecrets": [{"name": "registry"}],
        },
        set(),
    ),
}

# Values that the chart refuses, with a part of the message.
REFUSED = {
    "an unknown value": ({"replica": 2}, "replica"),
    "a text for a number": ({"replicas": "two"}, "replicas"),
    "an address of the chart": ({"config": {**CONFIG, "server": {"listen": "0.0.0.0:1"}}}, "server"),
    "a role that does not exist": ({"admin": {"keys": [{**ADMIN_KEY, "role": "root"}]}}, "role"),
    "a name that is no variable": ({"redisUrlVariable": "redis://host"}, "redisUrlVariable"),
}


def helm(*arguments, values):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump({"config": CONFIG, **values}, file)
        file.flush()
        command = [os.environ["HELM"], *arguments, str(CHART), "--values", file.name]
        return subprocess.run(command, capture_output=True, text=True, check=False)


def objects(values):
    rendered = helm("template", "gate", "--namespace", "ai", values=values)
    assert rendered.returncode == 0, rendered.stderr
    return [item for item in yaml.safe_load_all(rendered.stdout) if item]


def of_kind(items, kind):
    return [item for item in items if item["kind"] == kind]


def routes_yaml(items):
    return of_kind(items, "ConfigMap")[0]["data"]["routes.yaml"]


def assert_accepted(test, path):
    """Fails the test unless `headgate check` accepts the routes.yaml at `path`."""
    checked = subprocess.run(
        [os.environ["HEADGATE_PROGRAM"], "check", "--config", path],
        capture_output=True, text=True, check=False, env={**os.environ, **ENVIRONMENT},
    )
    test.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)


class ChartTest(unittest.TestCase):
    def test_helm_finds_no_fault(self):
        for name, (values, _) in VARIANTS.items():
            with self.subTest(name):
                linted = helm("lint", "--strict", values=values)
                self.assertEqual(linted.returncode, 0, linted.stdout)

    def test_every_object_satisfies_the_schemas_of_kubernetes(self):
        usual = {"ConfigMap", "Deployment", "Service", "ServiceAccount"}
        for name, (values, more) in VARIANTS.items():
            with self.subTest(name):
                items = objects(values)
                for item in items:
                    if item["kind"] not in FOREIGN_KINDS:
                        kubernetes_validate.validate(item, KUBERNETES, strict=True)
                kinds = {item["kind"] for item in items}
                self.assertLessEqual(usual | more, kinds)
                policies = {"NetworkPolicy", "PodDisruptionBudget"}
                self.assertEqual(kinds & policies, set() if "no policies" in name else policies)

    def test_the_gateway_accepts_every_rendered_configuration(self):
        for name, (values, _) in VARIANTS.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                # The certificate and the state are in volumes of the pod.
                config = yaml.safe_load(routes_yaml(objects(values)).replace("/data/", f"{folder}/"))
                config["server"].pop("tls", None)
                path = Path(folder, "routes.yaml")
                path.write_text(yaml.safe_dump(config))
                assert_accepted(self, path)

    def test_wrong_values_are_refused_with_their_place(self):
        for name, (values, place) in REFUSED.items():
            with self.subTest(name):
                rendered = helm("template", "gate", values=values)
                self.assertNotEqual(rendered.returncode, 0)
                self.assertIn(place, rendered.stderr)

    def test_a_pod_cannot_write_to_its_image_or_gain_rights(self):
        pod = of_kind(objects({}), "Deployment")[0]["spec"]["template"]["spec"]
        self.assertTrue(pod["securityContext"]["runAsNonRoot"])
        self.assertFalse(pod["automountServiceAccountToken"])
        container = pod["containers"][0]["securityContext"]
        self.assertTrue(container["readOnlyRootFilesystem"])
        self.assertFalse(container["allowPrivilegeEscalation"])
        self.assertEqual(container["capabilities"], {"drop": ["ALL"]})

    def test_the_rules_are_those_of_the_repository(self):
        items = objects({"prometheusRule": {"enabled": True}})
        rules = yaml.safe_load((ROOT / "deploy/prometheus/headgate.rules.yaml").read_text())
        self.assertEqual(of_kind(items, "PrometheusRule")[0]["spec"], rules)

    def test_a_changed_config_map_is_loaded_without_a_restart(self):
        items = objects({"redisUrlVariable": "", "localState": "memory"})
        first = yaml.safe_load(routes_yaml(items))
        second = yaml.safe_load(routes_yaml(items))
        second["channels"]["provider"]["models"]["added-model"] = "provider-added"
        with Gateway(first, ENVIRONMENT) as gateway:
            self.assertNotIn("added-model", gateway.models())
            gateway.replace_as_kubelet_does(second)
            gateway.eventually(lambda: "added-model" in gateway.models())


def is_public(port):
    """Whether a port of `docker-compose config` is published on every address; old versions write some as text."""
    if isinstance(port, dict):
        return port.get("host_ip") != "127.0.0.1"
    return not port.startswith("127.0.0.1:")


class ComposeTest(unittest.TestCase):
    def test_docker_compose_reads_the_file(self):
        read = subprocess.run(
            ["docker-compose", "--file", COMPOSE / "compose.yaml", "config"], capture_output=True, text=True, check=False
        )
        self.assertEqual(read.returncode, 0, read.stderr)
        services = yaml.safe_load(read.stdout)["services"]
        self.assertEqual(set(services), {"gateway", "provider", "redis", "prometheus", "grafana"})
        public = {name for name, service in services.items() if any(map(is_public, service.get("ports", [])))}
        self.assertEqual(public, {"gateway"})
        for service in services.values():
            for volume in service.get("volumes", []):
                source = str(volume).split(":")[0]
                if source.startswith("/"):
                    self.assertTrue(Path(source).exists(), source)

    def test_the_gateway_accepts_its_configuration(self):
        assert_accepted(self, COMPOSE / "config/routes.yaml")

    def test_prometheus_accepts_its_configuration(self):
        with tempfile.TemporaryDirectory() as folder:
            rules = ROOT / "deploy/prometheus"
            text = (COMPOSE / "prometheus.yaml").read_text().replace("/etc/prometheus/rules", str(rules))
            Path(folder, "prometheus.yml").write_text(text)
            checked = subprocess.run(
                ["promtool", "check", "config", Path(folder, "prometheus.yml")],
                capture_output=True, text=True, check=False,
            )
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
            self.assertIn("rules found", checked.stdout)


@unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
class UnitTest(unittest.TestCase):
    def test_systemd_finds_no_fault(self):
        with tempfile.TemporaryDirectory() as folder:
            # The program is where a package installs it, which need not be so here.
            unit = Path(folder, UNIT.name)
            program = os.environ["HEADGATE_PROGRAM"]
            unit.write_text(UNIT.read_text().replace("ExecStart=headgate", f"ExecStart={program}"))
            verified = subprocess.run(
                ["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, check=False
            )
            faults = [line for line in verified.stderr.splitlines() if UNIT.name in line]
            self.assertEqual(faults, [])

    def test_the_sandbox_leaves_little_exposed(self):
        command = ["systemd-analyze", "security", "--offline=true", "--threshold=25", UNIT]
        rated = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(rated.returncode, 0, rated.stdout[-2000:])


@unittest.skipUnless(sys.platform == "linux" and os.geteuid() == 0, "only root may change its root folder")
class ImageTest(unittest.TestCase):
    def test_the_image_runs_without_rights_on_a_read_only_root(self):
        with tempfile.TemporaryDirectory() as folder:
            image = Path(folder, "image")
            program = os.environ["HEADGATE_PROGRAM"]
            subprocess.run([ROOT / "deploy/container/collect.sh", program, image], check=True)
            config = {**CONFIG, "server": {"listen": "127.0.0.1:0", "admin": "127.0.0.1:0"}, "state": "sqlite:/data/s"}
            (image / "etc/headgate/routes.yaml").write_text(yaml.safe_dump(config))
            script = f"""
                set -e
                mount --bind {image} {image} && mount -o remount,bind,ro {image}
                mount -t tmpfs -o mode=1777 tmpfs {image}/tmp && mount -t tmpfs -o mode=1777 tmpfs {image}/data
                exec chroot --userspec=65532:65532 {image} /usr/local/bin/headgate "$@"
            """
            command = ["unshare", "--mount", "sh", "-c", script, "sh"]
            environment = {**ENVIRONMENT, "PATH": os.environ["PATH"]}
            version = subprocess.run([*command, "--version"], capture_output=True, text=True, env=environment, check=True)
            self.assertIn("headgate", version.stdout)
            running = subprocess.Popen(
                [*command, "run", "--config", "/etc/headgate/routes.yaml"],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
            )
            try:
                log = []
                for line in running.stdout:
                    log.append(line)
                    if "listening" in line:
                        break
                self.assertIn("listening", "".join(log))
                owner = Path(f"/proc/{running.pid}").stat().st_uid
                self.assertEqual(owner, 65532)
                self.assertNotIn("kept in memory", "".join(log))
            finally:
                running.kill()
                running.communicate()


def main():
    outcome = unittest.TextTestRunner(verbosity=2).run(
        unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    )
    failed = len(outcome.failures) + len(outcome.errors)
    # A test with several cases that fail counts once for each.
    passed = max(outcome.testsRun - failed - len(outcome.skipped), 0)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
