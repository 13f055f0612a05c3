"""The documents are correct: links work, code blocks and commands run as printed, and the reference matches the parsers."""

import importlib.util
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fsnn_lava.cli.run import fsnn_run
from tests.helpers.document_shell import FRAGMENTS, Shell, blocks, check_names, elsewhere, furnish, inline, lines
from tests.helpers.documentation import build

ROOT = Path(__file__).parents[2]
HISTORY = ROOT / "CHANGELOG.md"  # tells what was, not what to do
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("train/*.md"), *ROOT.glob("deploy/**/*.md"), *ROOT.glob("examples/**/*.md")]
)
NEWCOMER = ROOT / "docs" / "index.md"  # tests/whole/test_newcomer.py runs it
LINK = re.compile(r"\]\(([^)\s]+)\)")


def named(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page):
    for link in LINK.findall(page.read_text()):
        if not link.startswith(("http://", "https://", "mailto:")):
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            assert target.exists(), f"{page.name}: {link}"
            assert not anchor or target.suffix != ".md" or anchor in anchors(target), f"{page.name}: {link}"


def anchors(page):
    """The anchors that the headings of a page get."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_the_site_is_built_without_a_warning(tmp_path):
    pages = {page.stem for page in build(tmp_path).glob("*.html")}
    assert {page.stem for page in ROOT.glob("docs/*.md")} <= pages
    assert {"loihi2", "results", "contributing", "changelog"} <= pages


@pytest.fixture(scope="module")
def furnished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("furnished")
    furnish(folder)
    arguments = [str(folder / "net.h5"), "--backend", "emu", "--data", "digits", "--limit", "24", "--no-compare"]
    assert fsnn_run([*arguments, "--out", str(folder / "results.h5")]) == 0
    return folder


@pytest.fixture
def shell(furnished, tmp_path, monkeypatch, capfd):
    folder = tmp_path / "clone"
    shutil.copytree(furnished, folder, symlinks=True)
    return Shell(folder, monkeypatch, capfd)


@pytest.mark.parametrize("page", [page for page in PAGES if page not in (NEWCOMER, HISTORY) and (blocks(page) or inline(page))], ids=named)
def test_what_a_page_tells_to_run_runs_as_it_is_printed(page, shell):
    names = {"__name__": "block"}  # the blocks of a page build on each other
    training = [] if page.stem.startswith("tutorial") else None  # tutorials train little, and are run as they are
    for block in blocks(page):
        assert block.kind in ("sh", "python", "text", "toml"), f"say what the block is: ```sh, ```python, ```text or ```toml\n{block.body}"
        if block.kind == "python" and installed(block.body):
            exec(compile(block.body, page.name, "exec"), names)
        if block.kind == "sh":
            run_all(lines(block), shell, training=training)
    run_all((command for command in inline(page) if command not in FRAGMENTS), shell)


def installed(body):
    """Whether the other frameworks that a block imports are here."""
    packages = {"fsnn_lava.backends.lava": "lava", "lava.lib.dl": "lava.lib.dl", "snntorch": "snntorch", "sinabs": "sinabs"}
    return all(found(package) for name, package in packages.items() if name in body)


def found(package):
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # a parent is missing
        return False


def run_all(commands, shell, *, training=None):
    for command in commands:
        if elsewhere(command):
            check_names(command)
        else:
            shell.run(command, training=training)


def test_the_verdict_in_the_readme_is_the_one_that_is_printed(shell):
    shell.run("fsnn-run digits --backend emu --data digits --model model.pt")
    printed = shell.printed[shell.printed.index("PASS") :]
    shown = next(block.body for block in blocks(ROOT / "README.md") if block.body.startswith("PASS"))
    on_sim = "every spike count and potential matches the emulator (N samples, N spikes)"
    on_emu = "repeatable: every spike count and potential is the same when the emulator runs again (N samples)"
    assert on_sim in words(shown)
    assert words(shown).replace("sim (batched)", "emu").replace(on_sim, on_emu) == words(printed)
    for pattern in (r"network \w+", r"accuracy [\d.]+%", r"at most [\d.]+ < 1", r"all \d+ neurons"):
        assert re.search(pattern, shown).group() == re.search(pattern, printed).group()


def words(text):
    """Return the text on one line, with every number replaced by N."""
    return re.sub(r"\d[\d.]*", "N", " ".join(text.split()))


def test_a_command_that_does_not_work_is_noticed(shell):
    with pytest.raises(AssertionError, match="exit code 2"):
        shell.run("fsnn-run net.h5 --backend emu --no-such-option")
    with pytest.raises(AssertionError, match=r"bench/absent\.py"):
        check_names("python bench/absent.py")
    with pytest.raises(AssertionError, match="--absent"):
        check_names("python bench/emulator.py --absent")


def test_the_command_reference_is_up_to_date():
    assert runpy.run_path(str(ROOT / "docs" / "make_commands.py"))["page"]() == (ROOT / "docs" / "commands.md").read_text()


def test_a_command_starts_from_the_outside():
    done = subprocess.run([sys.executable, "-m", "fsnn_lava.cli.doctor"], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("fsnn-lava")
