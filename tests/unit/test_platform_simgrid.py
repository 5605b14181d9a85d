"""What the reader of SimGrid platforms accepts, and what it refuses with file, line and element."""

from __future__ import annotations

from pathlib import Path

import pytest

from batpy.base.errors import InputError
from batpy.platforms.load import load_platform
from batpy.platforms.platform import Host, Platform
from batpy.platforms.units import size_bytes, speeds

HEAD = "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM 'http://simgrid.example/simgrid.dtd'>\n"


def read(tmp_path: Path, text: str | bytes, **options: object) -> Platform:
    file = tmp_path / "p.xml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_platform(file, source="p.xml", **options)  # type: ignore[arg-type]


def body(inside: str, version: str = "4.1") -> str:
    return f'{HEAD}<platform version="{version}">\n<zone id="z" routing="Full">\n{inside}\n</zone></platform>'


def refusal(tmp_path: Path, text: str | bytes, **options: object) -> str:
    with pytest.raises(InputError) as refused:
        read(tmp_path, text, **options)
    line = str(refused.value)
    assert "\n" not in line
    return line


def hosts(platform: Platform) -> dict[str, Host]:
    return {host.name: host for host in platform.hosts}


# ------------------------------------------------------------------ units


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("76.296Mf", 76.296e6),
        ("16.673E9flops", 16.673e9),
        ("5.2297E9", 5.2297e9),
        ("1Ef", 1e18),
        ("2 gigaflops", 2e9),
        ("0.", 0.0),
        (".5kf", 500.0),
        (" 1e-9Mf ", 1e-3),
    ],
)
def test_speed_units_of_simgrid(text: str, value: float) -> None:
    assert speeds(text) == pytest.approx((value,), rel=1e-15)


@pytest.mark.parametrize("text", ["", "fast", "1Xf", "-1f", "1e400f", "nan", "1Gf,,2Gf", "1Mbps", "1 2f"])
def test_malformed_speed_is_quoted(text: str) -> None:
    with pytest.raises(ValueError, match=r"(is not a number|unknown unit|must be finite)"):
        speeds(text)


def test_sizes_tell_decimal_from_binary_units() -> None:
    assert (size_bytes("64GB"), size_bytes("64GiB"), size_bytes("12")) == (64 * 10**9, 64 * 2**30, 12)


# ------------------------------------------------------------------ hosts and numbering


def test_names_are_numbered_as_texts_with_storage_last_and_no_number_for_the_master(tmp_path: Path) -> None:
    inside = """<host id="a10" speed="1f"/><host id="a2" speed="1f"/><host id="master_host" speed="1f"/>
    <host id="a1" speed="1f"><prop id="role" value="storage"/></host>
    <host id="Z" speed="1f"><prop id="role" value="compute_node"/></host>"""
    platform = read(tmp_path, body(inside))
    assert [(host.id, host.name) for host in platform.hosts] == [(0, "Z"), (1, "a10"), (2, "a2"), (3, "a1")]
    assert platform.master == "master_host"
    assert [host.name for host in platform.storage] == ["a1"]


def test_role_master_wins_over_the_name(tmp_path: Path) -> None:
    told: list[str] = []
    inside = """<host id="boss" speed="1f"><prop id="role" value="master"/></host>
    <host id="master_host" speed="1f"/>"""
    platform = read(tmp_path, body(inside), master_host="master_host", notice=told.append)
    assert (platform.master, [host.name for host in platform.compute]) == ("boss", ["master_host"])
    assert "'boss' has the role master" in told[0]


def test_mmax_keeps_the_first_compute_hosts_and_all_storage(tmp_path: Path) -> None:
    inside = """<cluster id="c" prefix="n" suffix="" radical="0-9" speed="1Gf" bw="1Bps" lat="0"/>
    <host id="disk" speed="0f"><prop id="role" value="storage"/></host>"""
    platform = read(tmp_path, body(inside), mmax=3)
    assert [(host.id, host.name) for host in platform.hosts] == [(0, "n0"), (1, "n1"), (2, "n2"), (3, "disk")]


def test_radical_mixes_intervals_and_numbers(tmp_path: Path) -> None:
    inside = """<cluster id="c" prefix="n" suffix=".x" radical="0-2, 7,10-11" speed="2Gf,1Gf" core="4"
    bw="1Bps" lat="0"/>"""
    platform = read(tmp_path, body(inside))
    assert [host.name for host in platform.compute] == ["n0.x", "n1.x", "n10.x", "n11.x", "n2.x", "n7.x"]
    assert {(host.cores, host.speeds) for host in platform.compute} == {(4, (2e9, 1e9))}


def test_inner_zones_win_and_cabinets_belong_to_the_zone_around(tmp_path: Path) -> None:
    inside = """<prop id="site" value="outer"/><prop id="floor" value="1"/>
    <AS id="in" routing="Cluster"><prop id="site" value="inner"/>
      <cabinet id="k" prefix="k" suffix="" radical="0-0" speed="1f" bw="1Bps" lat="0"/></AS>
    <peer id="p" speed="1f" bw_in="1Bps" bw_out="1Bps"/>"""
    found = hosts(read(tmp_path, body(inside)))
    assert found["k0"].zone_properties == {"site": "inner", "floor": "1"}
    assert found["p"].zone_properties == {"site": "outer", "floor": "1"}


def test_role_option_for_one_host_of_a_cluster_leaves_the_others(tmp_path: Path) -> None:
    inside = '<cluster id="c" prefix="n" suffix="" radical="0-2" speed="1Gf" bw="1Bps" lat="0"/>'
    platform = read(tmp_path, body(inside), roles={"n1": "storage"})
    assert [(host.name, host.properties["role"]) for host in platform.hosts] == [
        ("n0", ""),
        ("n2", ""),
        ("n1", "storage"),
    ]


def test_cores_memory_and_gpus_come_from_properties_then_from_the_options(tmp_path: Path) -> None:
    inside = """<host id="a" speed="1f"><prop id="cores" value="8"/><prop id="memory" value="64GiB"/>
      <prop id="gpus" value="4"/></host>
    <host id="b" speed="1f" core="2"/><host id="c" speed="1f"><prop id="memory" value="plenty"/></host>"""
    told: list[str] = []
    found = hosts(read(tmp_path, body(inside), cores=16, memory=1000, gpus=1, notice=told.append))
    a, b, c = (found[name] for name in "abc")
    assert (a.cores, a.memory, a.gpus) == (8, 64 * 2**30, 4)
    assert (b.cores, b.memory, b.gpus) == (2, 1000, 1)
    assert (c.cores, c.memory, c.gpus) == (16, 1000, 1)
    assert b.properties == {"memory": "1000", "gpus": "1", "role": ""}
    assert any("memory 'plenty'" in line for line in told)


def test_missing_master_is_a_notice_only(tmp_path: Path) -> None:
    told: list[str] = []
    platform = read(tmp_path, body('<host id="a" speed="1f"/>'), notice=told.append)
    assert platform.master is None
    assert len(told) == 1
    assert "no host has the role master" in told[0]


def test_unknown_elements_are_told_once_each(tmp_path: Path) -> None:
    inside = """<host id="master_host" speed="1f"/><host id="a" speed="1f"><gadget/><gadget/></host>
    <widget/><gadget/>"""
    told: list[str] = []
    read(tmp_path, body(inside), notice=told.append)
    assert [line.split(": ", 1)[1] for line in told] == [
        "unknown element <gadget> is ignored",
        "unknown element <widget> is ignored",
    ]


# ------------------------------------------------------------------ what XML brings along


def test_blank_lines_before_the_declaration_do_not_shift_line_numbers(tmp_path: Path) -> None:
    text = "\n\n" + body('<host id="a" speed="1f"/>\n<host id="b" speed="1zz"/>')
    assert refusal(tmp_path, text).startswith("p.xml:8: host 'b': speed '1zz'")


@pytest.mark.parametrize("encoding", ["iso-8859-1", "utf-8", "utf-16", "cp1252"])
def test_declared_encodings_are_honoured(tmp_path: Path, encoding: str) -> None:
    text = body('<host id="Orléans" speed="1f"/>').replace("'1.0'", f"'1.0' encoding='{encoding}'", 1)
    assert [host.name for host in read(tmp_path, text.encode(encoding)).compute] == ["Orléans"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"<?xml version='1.0' encoding='klingon'?><platform/>", "p.xml:1: unknown encoding 'klingon'"),
        (b"<platform>\n\xff\xfe</platform>", "p.xml:2: not a text in utf-8"),
        (b"", "p.xml:1: not well-formed XML: no element found"),
        (b"\x1f\x8b\x08\x00garbage", "p.xml:1: not a text in utf-8"),
        (b"<platform version='4.1'>\n<zone id='z'>\n</platform>", "p.xml:3: not well-formed XML"),
        (b"<platform version='4.1'>\0</platform>", "p.xml:1: not well-formed XML"),
    ],
)
def test_content_that_is_no_xml_is_refused_with_its_line(tmp_path: Path, content: bytes, said: str) -> None:
    assert refusal(tmp_path, content).startswith(said)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^nowhere\.xml: cannot be read: No such file"):
        load_platform(tmp_path / "nowhere.xml", source="nowhere.xml")


LAUGHS = "<!DOCTYPE platform [\n<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;'>]>\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LAUGHS + "<platform version='4.1'>&b;</platform>", "p.xml:2: the entity &a; is refused"),
        ("<!DOCTYPE platform [\n<!ENTITY a 'ha'>]>\n<platform/>", "p.xml:2: declares an XML entity"),
        ("<!DOCTYPE platform [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>\n<platform/>", "p.xml:1: declares"),
        ("<!DOCTYPE platform [<!ENTITY % x SYSTEM 'file:///etc/passwd'>]>\n<platform/>", "p.xml:1: declares"),
        (body('<host id="a&secret;" speed="1f"/>'), "p.xml:5: the entity &secret; is refused"),
    ],
)
def test_entities_are_refused_wherever_they_are_declared(tmp_path: Path, text: str, said: str) -> None:
    assert refusal(tmp_path, text).startswith(said)


def test_character_references_and_words_in_comments_are_no_entities(tmp_path: Path) -> None:
    inside = '<!-- see &nbsp; and <host id="no"/> --><host id="a&amp;b&#65;" speed="1f"/>'
    assert [host.name for host in read(tmp_path, body(inside)).compute] == ["a&bA"]


def test_deep_nesting_is_refused_instead_of_exhausting_the_stack(tmp_path: Path) -> None:
    deep = "<zone id='z'>" * 5000 + "</zone>" * 5000
    assert "nested deeper than 200" in refusal(tmp_path, body(deep))


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<platform version='5'/>", "p.xml:1: platform: version '5' is not known; known: 3, 4, 4.1"),
        ("<platform/>", "p.xml:1: platform: has no version"),
        ("<html/>", "p.xml:1: html: the root of a platform file is <platform>"),
        ("<platform version='4.1'/>", "p.xml:1: platform: has no host"),
        ("<platform version='4'>\n<process host='a'/></platform>", "p.xml:1: platform: a deployment file"),
        (body("<host id='a'/>"), "p.xml:5: host 'a': needs a speed"),
        (body("<host speed='1f'/>"), "p.xml:5: host: needs the attribute id"),
        (
            body("<host id='a' speed='1f' core='0'/>"),
            "p.xml:5: host 'a': core must be an integer of",
        ),
        (body("<host id='a' speed='1f' core='two'/>"), "p.xml:5: host 'a': core must be"),
        (body("<host id='a' speed='1f,2f' pstate='2'/>"), "p.xml:5: host 'a': pstate 2 is beyond its 2"),
        (body("<host id='a' speed='0f'/>"), "p.xml:5: host 'a': 'a' computes but has speed 0"),
        (
            body("<host id='a' speed='1f'/>\n<host id='a' speed='1f'/>"),
            "p.xml:6: host 'a': there is already a host 'a', of line 5",
        ),
        (
            body("<host id='a' speed='1f'><prop id='role' value='boss'/></host>"),
            "p.xml:5: host 'a': unknown role 'boss'; known: compute_node, master, storage",
        ),
        (body("<host id='a' speed='1f'><prop value='x'/></host>"), "p.xml:5: prop: needs the attribute id"),
        (body("<host id='master_host' speed='1f'/>"), "p.xml: has no compute host"),
        (body("<include file='x.xml'/>"), "p.xml:5: include: <include> is not supported"),
        (
            body("<cluster id='c' prefix='n' radical='3-1' speed='1f'/>"),
            "p.xml:5: cluster 'c': radical '3-1': '3-1' ends before it begins",
        ),
        (
            body("<cluster id='c' prefix='n' radical='0..3' speed='1f'/>"),
            "p.xml:5: cluster 'c': radical '0..",
        ),
        (
            body("<cluster id='c' prefix='n' radical='0-99999999999' speed='1f'/>"),
            "p.xml:5: cluster 'c': more than 1000000 hosts",
        ),
    ],
)
def test_malformed_platform_is_refused_with_line_and_element(tmp_path: Path, text: str, said: str) -> None:
    assert refusal(tmp_path, text).startswith(said)


def test_two_masters_are_refused(tmp_path: Path) -> None:
    role = "<prop id='role' value='master'/>"
    text = body(f"<host id='a' speed='1f'>{role}</host>\n<host id='b' speed='1f'>{role}</host>")
    assert refusal(tmp_path, text).startswith(
        "p.xml:6: host 'b': two hosts have the role master: 'a' and 'b'"
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"master_host": "boss"}, "p.xml: there is no host 'boss' to be the master"),
        ({"roles": {"pfs": "storage"}}, "p.xml: there is no host 'pfs' to give a role to"),
        ({"roles": {"a": "boss"}}, "p.xml:5: host 'a': unknown role 'boss'"),
        ({"speed": 1e9}, "p.xml: speed is not for platforms read from a file"),
        ({"mmax": -1}, "mmax: must be at least 0"),
    ],
)
def test_options_that_do_not_fit_the_file_are_refused(
    tmp_path: Path, options: dict[str, object], said: str
) -> None:
    assert refusal(tmp_path, body("<host id='a' speed='1f'/>"), **options).startswith(said)
