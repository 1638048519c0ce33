"""Results as JUnit XML, which continuous integration systems read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from .result import Outcome, Result

# Characters that XML 1.0 cannot hold.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(name: str, results: Sequence[Result]) -> bytes:
    """A test suite `name` with one test case per case and target; seconds as they were measured."""
    count = {outcome: sum(r.outcome is outcome for r in results) for outcome in Outcome}
    totals = {
        "tests": str(len(results)),
        "failures": str(count[Outcome.FAILED]),
        "errors": "0",
        "skipped": str(count[Outcome.SKIPPED]),
        "time": f"{sum(r.seconds for r in results):.3f}",
    }
    top = ElementTree.Element("testsuites", {"name": "ptokit conformance", **totals})
    suite = ElementTree.SubElement(top, "testsuite", {"name": _clean(name), **totals})
    for r in results:
        names = {"classname": f"{_clean(r.op)}.{r.target}", "name": f"{_clean(r.case)}[{r.target}]"}
        case = ElementTree.SubElement(suite, "testcase", {**names, "time": f"{r.seconds:.6f}"})
        if r.outcome is Outcome.FAILED:
            failure = ElementTree.SubElement(case, "failure", {"message": _clean(r.message), "type": "conformance"})
            failure.text = _clean(r.message)
        elif r.outcome is Outcome.SKIPPED:
            ElementTree.SubElement(case, "skipped", {"message": _clean(r.message)})
    ElementTree.indent(top)
    return ElementTree.tostring(top, encoding="utf-8", xml_declaration=True) + b"\n"


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("?", text)
