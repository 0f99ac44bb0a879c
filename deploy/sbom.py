#!/usr/bin/env python3
# Prints the software bill of materials of the program, CycloneDX 1.6 in JSON: `sbom.py TARGET`. It names what is compiled into the
# program for that target, with licences and the checksums of Cargo.lock; what only builds or tests it is left out. It depends on
# Cargo.lock and the commit alone, so that two runs print the same.
import json
import os
import subprocess
import sys
import tomllib
import uuid
from datetime import datetime, timezone

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# The namespace of URLs, by which a serial number is computed of the commit (RFC 9562, version 5).
NAMESPACE = uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")


def output(*command):
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def compiled_into(graph, root):
    """The ids of all packages that the program is linked from, the program's own first."""
    found, waiting = [], [root]
    while waiting:
        package = waiting.pop(0)
        if package in found:
            continue
        found.append(package)
        waiting.extend(linked(graph[package]))
    return found


def linked(node):
    """The dependencies of a package that are linked, not those of its build or its tests."""
    is_linked = lambda dependency: any(kind["kind"] is None for kind in dependency["dep_kinds"])
    return sorted(dependency["pkg"] for dependency in node["deps"] if is_linked(dependency))


def reference(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, checksums, kind="library"):
    described = {
        "type": kind,
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "purl": reference(package),
    }
    if package["license"]:
        # Older manifests separate alternatives by a slash.
        expression = package["license"].replace("/", " OR ")
        described["licenses"] = [{"expression": expression}]
    checksum = checksums.get((package["name"], package["version"]))
    if checksum:
        described["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return described


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: sbom.py TARGET")
    metadata = json.loads(output(
        "cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", sys.argv[1],
    ))
    packages = {package["id"]: package for package in metadata["packages"]}
    graph = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    program = metadata["resolve"]["root"]
    with open(os.path.join(ROOT, "Cargo.lock"), "rb") as file:
        locked = tomllib.load(file)["package"]
    checksums = {(one["name"], one["version"]): one.get("checksum") for one in locked}
    commit, seconds = output("git", "log", "-1", "--format=%H %ct").split()
    parts = compiled_into(graph, program)
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(NAMESPACE, f'{commit} {sys.argv[1]}')}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(int(seconds), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": component(packages[program], checksums, "application"),
        },
        "components": sorted(
            (component(packages[part], checksums) for part in parts[1:]), key=lambda one: one["purl"],
        ),
        "dependencies": [
            {
                "ref": reference(packages[part]),
                "dependsOn": sorted(reference(packages[one]) for one in linked(graph[part])),
            }
            for part in parts
        ],
    }
    print(json.dumps(document, indent=1))


main()
