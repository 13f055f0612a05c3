"""The report: complete, self-contained, escaped, and what it draws is what happened."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from html import escape
from importlib import resources
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest

from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.cli.compare import fsnn_compare
from fsnn_lava.cli.export import fsnn_export
from fsnn_lava.cli.run import fsnn_run
from fsnn_lava.errors import BadArgument, BadFile
from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.ir.result import concatenate_results
from fsnn_lava.report import accuracy_curve, activity, svg_figure
from fsnn_lava.report.evidence import Origin, RunEvidence
from fsnn_lava.report.page import arranged_panels
from fsnn_lava.report.panel import Panel
from fsnn_lava.report.report import write_report
from fsnn_lava.report.residual_curve import _moments
from fsnn_lava.report.sample_picker import SAMPLES as SAMPLES_TO_CHOOSE
from fsnn_lava.verify.check import Check
from fsnn_lava.verify.comparator import compare
from fsnn_lava.verify.verdict import Verdict
from tests.helpers.report_case import EVIL, SAMPLES, Case, digits_case
from tests.helpers.strategies import random_network, random_values

SECTIONS = (
    *("verdict", "residual", "steps", "classes", "confusion", "mistakes", "samples", "rates", "activity", "costs", "weights", "cores"),
    "provenance",
)
CSV_FILES = set(SECTIONS) - {"verdict", "provenance"}


@pytest.fixture(scope="module")
def case() -> Case:
    return digits_case()


@pytest.fixture(scope="module")
def folder(case: Case, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with everything in it, and its figures."""
    folder = tmp_path_factory.mktemp("report")
    write_report(
        folder / "report.html",
        verdict=case.verdict,
        chip=case.chip,
        result=case.result,
        values=case.values,
        labels=case.labels,
        model=case.model,
        figures=folder / "figures",
        origin=Origin(data="digits <8 x 8>", date="2026-11-17T16:07:00+00:00", command=f"fsnn-run net.h5 --data {EVIL}"),
    )
    return folder


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


def table(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "figures" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def drawings(page: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(text) for text in re.findall(r"<svg .*?</svg>", page, flags=re.DOTALL)]


def test_every_section_is_there_and_drawn(page):
    for name in SECTIONS:
        assert page.count(f'id="{name}"') == 1, name
    assert "Not drawn" not in page


def test_every_drawing_is_valid_xml_with_a_description_and_real_text(page):
    found = drawings(page)
    single = ("residual", "steps", "classes", "confusion", "energy", "chip")
    assert len(found) == len(single) + 2 * SAMPLES_TO_CHOOSE + 2 + 2 + 4  # 2 layers of each sample and of rates; activity; weights
    for drawing in found:
        assert drawing.attrib["aria-label"]
        assert drawing.attrib["viewBox"]
        assert [element for element in drawing.iter() if element.tag.endswith("}text")]


def test_no_name_is_given_twice(page):
    names = re.findall(r'\bid="([^"]*)"', page)
    assert len(names) == len(set(names))


def test_the_file_points_to_nothing_outside_itself(page):
    text = re.sub(r' xmlns(:\w+)?="[^"]*"', "", page)
    assert not re.search(r"https?://|//[a-z]+\.[a-z]", text)
    assert "@import" not in text
    for address in re.findall(r"""(?:src|href)=["']([^"']*)["']""", text) + re.findall(r"url\(([^)]*)\)", text):
        assert address.startswith(("#", "data:")), address
    assert "default-src 'none'" in page


def test_inner_links_lead_somewhere(page):
    names = set(re.findall(r'\bid="([^"]*)"', page))
    for target in re.findall(r'href="#([^"]*)"', page) + re.findall(r"url\(#([^)]*)\)", page):
        assert target in names


def test_strings_from_outside_are_text_and_never_markup(page):
    assert "<script" not in page
    assert escape(EVIL) in page
    assert escape(f"fsnn-run net.h5 --data {EVIL}") in page


def test_a_layer_with_an_evil_name_stays_text(case, tmp_path):
    layers = tuple(replace(layer, name=EVIL if layer.name == "l2" else layer.name) for layer in case.chip.layers)
    rename = {"l2": EVIL}
    synapses = tuple(replace(s, source=rename.get(s.source, s.source), target=rename.get(s.target, s.target)) for s in case.chip.synapses)
    chip = replace(case.chip, layers=layers, synapses=synapses, notes={EVIL: EVIL})
    compare(Emulator(chip).run(case.values), chip, case.values).to_html(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert page.count(escape(EVIL)) > 5
    assert len(drawings(page)) > 5


def test_each_check_shows_its_name_link_sentence_and_numbers(case, page):
    for check in case.verdict.checks:
        part = page[page.index(f'id="check-{check.name}"') :]
        part = part[: part.index("</article>")]
        for text in (check.name, check.link, check.summary, "passed" if check.judges else "measured, not judged"):
            assert escape(text) in part
        for number in check.numbers:
            assert escape(number.replace("_", " ")) in part


def test_the_head_gives_all_three_answers(case, page):
    head = page[page.index("<header") : page.index("</header>")]
    assert "faithful: all" in head
    answers = dict(re.findall(r"<dt>(\w+)</dt><dd><b>(.*?)</b>", head))
    assert answers == {
        "Faithful": "yes",
        "Settled": case.verdict.settled.answer,
        "Accurate": f"{case.verdict.accurate.accuracy:.2%}",
    }
    assert escape(case.verdict.settled.outlook()) in head


def test_the_head_names_data_set_bits_and_date(page):
    head = page[page.index("<header") : page.index("</header>")]
    for text in ("data set digits &lt;8 x 8&gt;", "8-bit weights", f"{SAMPLES} samples, 12 steps each", "2026-11-17 16:07 UTC"):
        assert text in head


def test_a_failed_check_is_on_top_and_says_where(case, tmp_path):
    broken = Check(
        name="charge", link="integer spikes → backend", passed=False, summary="charge is <lost>",
        offenders=({"sample": 3, "layer": "l1", "neuron": [0, 1, 2], "what": "64 missing"},),
    )  # fmt: skip
    verdict = Verdict(checks=(case.verdict.checks[2], broken), about=case.verdict.about)
    write_report(tmp_path / "r.html", verdict=verdict)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    head = page[page.index("<header") : page.index("</header>")]
    assert "FAIL" in head
    assert "not faithful: 1 of 1 checks failed: charge" in head
    assert "charge is &lt;lost&gt;" in page
    assert "sample 3, layer &#x27;l1&#x27;, neuron (0, 1, 2): 64 missing" in page
    assert "<details open>" in page


def test_a_verdict_alone_says_what_is_missing_in_every_place(case, tmp_path):
    bare = replace(case.verdict, checks=case.verdict.checks[:1])
    write_report(tmp_path / "bare.html", verdict=bare)
    page = (tmp_path / "bare.html").read_text(encoding="utf-8")
    for name in SECTIONS:
        assert page.count(f'id="{name}"') == 1, name
    assert page.count("Not drawn") == 11


def test_where_it_ran_is_never_left_open(case, page, tmp_path):
    assert "Not run on silicon." in page
    write_report(tmp_path / "r.html", verdict=replace(case.verdict, about={**case.verdict.about, "backend": "loihi2"}))
    silicon = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Not run on silicon" not in silicon
    assert "Ran on Loihi 2" in silicon


def test_every_colour_of_a_drawing_is_defined_for_light_dark_and_print(page):
    style = resources.files("fsnn_lava.report").joinpath("style.css").read_text(encoding="utf-8")
    blocks = [dict(re.findall(r"--([a-z-]+):\s*([^;]+);", block)) for block in re.findall(r":root\s*\{(.*?)\}", style, flags=re.DOTALL)]
    assert len(blocks) == 3
    used = {name for svg in re.findall(r"<svg .*?</svg>", page, flags=re.DOTALL) for name in re.findall(r"var\(--([a-z-]+)\)", svg)}
    assert {"ink", "blue", "font"} <= used
    for block in blocks:
        assert used - {"font"} <= set(block)
    assert {name: blocks[0][name] for name in svg_figure.COLOURS} == svg_figure.COLOURS
    for colour in svg_figure.COLOURS.values():
        assert not any(colour in svg for svg in re.findall(r"<svg .*?</svg>", page, flags=re.DOTALL))


def test_drawing_leaves_matplotlib_as_it_was(case, tmp_path):
    before = dict(matplotlib.rcParams)
    write_report(tmp_path / "r.html", verdict=case.verdict)
    assert dict(matplotlib.rcParams) == before


def test_every_figure_comes_as_png_and_its_data_as_csv(folder, page):
    pictures = set(re.findall(r'id="picture-([^"]*)"', page))
    files = {path.name for path in (folder / "figures").iterdir()}
    assert files == {f"{name}.png" for name in pictures} | {f"{name}.csv" for name in CSV_FILES}
    for path in (folder / "figures").glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")
    assert len((folder / "report.html").read_bytes()) < 1_000_000


def test_what_a_pointer_shows_stands_in_a_table_too(folder, page):
    for key in ("residual", "steps", "classes", "confusion", "rates", "activity", "weights"):
        section = page[page.index(f'id="{key}"') :]
        section = section[: section.index("</section>")]
        assert "<title>" in section, key
        assert "The numbers as a table" in section, key
    rows = table(folder, "steps")
    assert f"{rows[0]['steps']} steps: {rows[0]['right']} of {SAMPLES} right" in page


def test_one_accuracy_for_one_set_of_samples(case, folder, tmp_path):
    """The accuracy at T is the verdict's if all samples are drawn; of fewer samples only the change against T is shown."""
    at_end = next(row for row in table(folder, "steps") if int(row["steps"]) == case.chip.steps)
    assert float(at_end["share"]) == pytest.approx(case.verdict.accurate.accuracy, abs=1e-8)
    part = {"result": case.result.part(slice(0, 10)), "values": case.values[:10], "labels": case.labels[:10]}
    write_report(tmp_path / "r.html", verdict=case.verdict, chip=case.chip, **part)
    section = (tmp_path / "r.html").read_text(encoding="utf-8").split('id="steps"')[1].split("</section>")[0]
    assert "as the change from T = 12 on the first 10 samples" in section
    assert "change of accuracy" in section


def test_the_residual_is_the_rate_map_s_and_stays_below_its_bound(case, folder):
    rows = table(folder, "residual")
    steps = {int(row["steps"]) for row in rows}
    assert {1, case.chip.steps, 2 * case.chip.steps} <= steps
    for row in rows:
        assert float(row["residual"]) <= float(row["bound"]) + 1e-9
    rate_map = RateMap(case.chip)
    rates = case.result.rates
    mapped = rate_map.apply(rates, rate_map.drive(case.values))
    by_hand = np.sqrt(sum(((f - a)[0] ** 2).sum() for f, a in zip(mapped, rates, strict=True)))
    at_end = next(row for row in rows if int(row["steps"]) == case.chip.steps and row["sample"] == "0")
    assert float(at_end["residual"]) == pytest.approx(by_hand, rel=1e-8)


def test_every_spike_of_the_samples_to_choose_from_is_listed(case, folder):
    rows = table(folder, "samples")
    chosen = sorted({int(row["sample"]) for row in rows})
    assert len(chosen) == SAMPLES_TO_CHOOSE
    for layer, counts in zip(case.chip.layers, case.result.counts, strict=True):
        found = np.zeros((len(chosen), layer.size), int)
        for row in rows:
            if row["layer"] == layer.name:
                found[chosen.index(int(row["sample"])), int(row["neuron"])] += 1
                assert 1 <= int(row["step"]) <= case.chip.steps
        np.testing.assert_array_equal(found, counts[chosen].reshape(len(chosen), -1))


def test_wrong_answers_are_shown_with_their_images(case, folder, page):
    rows = table(folder, "mistakes")
    wrong = np.flatnonzero(case.result.predictions != case.labels)
    assert {int(row["sample"]) for row in rows} >= set(wrong.tolist())
    section = page[page.index('id="mistakes"') :]
    section = section[: section.index("</section>")]
    assert f"Wrong: {len(wrong)} of {SAMPLES}" in section
    assert section.count("data:image/png") == section.count("<li>") >= len(wrong)


def test_layers_are_named_by_their_kind(page):
    for text in ("l1 · conv 6, 8 × 8", "l2 · conv 5, 4 × 4"):
        assert page.count(text) >= 4


def test_the_confusion_matrix_counts_every_sample_once(case, folder):
    rows = table(folder, "confusion")
    names = case.chip.class_names
    right = sum(int(row["samples"]) for row in rows if row["label"] == row["answer"])
    assert sum(int(row["samples"]) for row in rows) == SAMPLES
    assert right == np.count_nonzero(case.result.predictions == case.labels)
    first = next(row for row in rows if row["label"] == names[case.labels[0]] and row["answer"] == names[case.result.predictions[0]])
    assert int(first["samples"]) >= 1


def test_accuracy_against_steps_is_that_of_runs_of_so_many_steps(case, folder):
    rows = {int(row["steps"]): int(row["right"]) for row in table(folder, "steps")}
    assert set(rows) == {3, 6, 12, 24}
    for steps, right in rows.items():
        answers = Emulator(case.chip).run(case.values, steps=steps).predictions
        assert right == np.count_nonzero(answers == case.labels)


def test_histograms_hold_every_weight_before_and_after(case, folder):
    rows = table(folder, "weights")
    sizes = {f"{s.source} → {s.target}": s.weight.size for s in case.chip.synapses} | {"l2 → readout": case.chip.readout.weight.size}
    for column in ("integers", "floats"):
        for name, size in sizes.items():
            assert sum(int(row[column]) for row in rows if row["connection"] == name) == size


@pytest.mark.parametrize("seed", range(12))
def test_operations_of_the_connections_add_up_to_what_the_emulator_counted(seed):
    rng = np.random.default_rng(seed)
    chip = random_network(rng, layers=1 + seed % 4)
    values = random_values(rng, chip, 3)
    result = Emulator(chip).run(values, steps=values.shape[1] if chip.input.kind == "events" else chip.steps)
    found = activity.activity_by_synapse(RunEvidence(chip, result, values, None, None, None))
    assert sum(value for _, _, value in found) == pytest.approx(result.operations.mean(), rel=1e-12)


@pytest.mark.parametrize("kind", ["events", "current"])
def test_a_report_of_every_kind_of_input_without_labels_or_model(kind, tmp_path):
    rng = np.random.default_rng(5)
    chip = random_network(rng, layers=2, kind=kind, reset="subtract", feedback=True)
    values = random_values(rng, chip, 4)
    steps = values.shape[1] if kind == "events" else chip.steps
    result = Emulator(chip).run(values, steps=steps, spikes=True)
    compare(result, chip, values).to_html(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.count("Not drawn") == 3
    assert page.count("there are no labels") == 2
    assert "there are neither labels nor answers of the float network" in page
    assert "Without the float network" in page
    last = max(point.steps for point in accuracy_curve.measure_accuracy_curve(RunEvidence(chip, result, values, None, None, None)))
    assert last == (steps if kind == "events" else 2 * steps)
    assert "as recorded by the backend" in page


def test_looked_at_steps_are_few_and_hold_the_run_s_own():
    for steps in (1, 2, 5, 30, 250):
        found = _moments(steps, twice=True)
        assert steps in found
        assert found == sorted(set(found))
        assert (found[0], found[-1]) == (1, 2 * steps)
        assert len(found) <= 13


def test_a_narrow_section_without_a_neighbour_takes_the_whole_row():
    def shapes(*wide: bool) -> list[str]:
        return [shape for _, shape in arranged_panels([Panel(key=str(i), title="t", wide=w) for i, w in enumerate(wide)])]

    assert shapes(False, False, True, False, True) == ["half", "half", "wide", "wide side", "wide"]
    assert shapes(False, False, False) == ["half", "half", "wide side"]


def test_values_of_another_number_of_samples_are_refused(case, tmp_path):
    with pytest.raises(BadArgument, match=f"of the {SAMPLES} samples in the result, got 3"):
        write_report(tmp_path / "r.html", verdict=case.verdict, chip=case.chip, result=case.result, values=case.values[:3])
    with pytest.raises(BadArgument, match="network, the result and the values together"):
        write_report(tmp_path / "r.html", verdict=case.verdict, chip=case.chip)
    assert not list(tmp_path.iterdir())


def test_a_path_that_cannot_be_written_is_reported(case, tmp_path):
    with pytest.raises(BadFile, match="cannot write"):
        write_report(tmp_path / "no" / "r.html", verdict=case.verdict)
    (tmp_path / "file").write_text("")
    with pytest.raises(BadFile, match="cannot create the folder"):
        write_report(tmp_path / "r.html", verdict=case.verdict, figures=tmp_path / "file")


def test_run_and_compare_write_the_same_figures_on_request(case, tmp_path, capsys):
    case.chip.save(tmp_path / "net.h5")
    case.model.save(tmp_path / "model.pt")
    np.savez(tmp_path / "data.npz", x=case.values[:6], y=case.labels[:6])
    common = ["--model", str(tmp_path / "model.pt"), "--report"]
    ran = [str(tmp_path / "net.h5"), "--backend", "emu", "--data", str(tmp_path / "data.npz"), "--out", str(tmp_path / "results.h5")]
    assert fsnn_run([*ran, *common, str(tmp_path / "run.html"), "--figures", str(tmp_path / "run")]) == 0
    judged = [str(tmp_path / "results.h5"), *common, str(tmp_path / "compare.html"), "--figures", str(tmp_path / "compare")]
    assert fsnn_compare(judged) == 0
    capsys.readouterr()
    for name in CSV_FILES:
        assert (tmp_path / "run" / f"{name}.csv").read_bytes() == (tmp_path / "compare" / f"{name}.csv").read_bytes(), name
    assert len(list((tmp_path / "run").glob("*.png"))) == len(list((tmp_path / "compare").glob("*.png"))) > 8
    for command, arguments in ((fsnn_run, ran), (fsnn_compare, judged[:1])):
        assert command([*arguments, "--figures", str(tmp_path / "run")]) == 2
        assert "add --report" in capsys.readouterr().err


def test_an_export_can_show_what_it_wrote(case, tmp_path, capsys):
    case.model.save(tmp_path / "model.pt")
    exported = [str(tmp_path / "model.pt"), str(tmp_path / "net.h5"), "--force", "--limit", "6"]
    for wrong, match in ((["--figures", "x", "--data", "digits"], "add --report"), (["--report", "x.html"], "add --data")):
        assert fsnn_export([*exported, *wrong]) == 2
        assert match in capsys.readouterr().err
    assert not (tmp_path / "net.h5").exists()
    np.savez(tmp_path / "data.npz", x=case.values, y=case.labels)  # few: without --limit all of them are taken
    shown = ["--data", str(tmp_path / "data.npz"), "--report", str(tmp_path / "r.html")]
    assert fsnn_export([*exported[:3], *shown]) in (0, 1)  # not trained: it may fail
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Not drawn" not in page
    assert "the emulator" in page


def test_parts_of_a_run_share_its_time(case):
    run = replace(case.result, seconds=6.0)
    parts = [run.part(slice(0, 4)), run.part(slice(4, SAMPLES))]
    assert parts[0].seconds == pytest.approx(6.0 * 4 / SAMPLES)
    assert concatenate_results(parts).seconds == pytest.approx(6.0)
