"""Files and tool outputs in the forms that models take."""

import base64
from typing import Any

import pytest

from holdfast.adapters.providers.content import (
    EMPTY,
    Paper,
    Picture,
    Piece,
    Words,
    asked_pieces,
    output_pieces,
)
from holdfast.adapters.providers.types import ModelFacts
from holdfast.domain.parts import File
from tests.support.model import (
    WIRE_NAMES,
    assistant,
    body_of,
    call_for,
    endpoint_for,
    results,
    tool_call,
    tool_result,
    user,
)

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 16
PNG_64 = base64.b64encode(PNG).decode()
FILES = {
    "png": PNG,
    "pdf": b"%PDF-1.7 ...",
    "csv": "a,b\n1,ü".encode(),
    "zip": b"PK\x03\x04\xff\xfe",
    "nul": b"a\x00b",
    "webp": b"RIFF\x00\x00\x00\x00WEBPVP8 ",
    "wav": b"RIFF\x00\x00\x00\x00WAVEfmt ",
}
BLIND = ModelFacts(model="m", images=False, documents=False)


def attached(name: str, media_type: str, model: ModelFacts | None = None) -> Piece:
    changes: dict[str, Any] = {"files": FILES.get} | ({"model": model} if model else {})
    return asked_pieces(File(name, media_type, f"my.{name}"), call_for("chat", **changes))


def shown(output: Any, **changes: Any) -> list[Piece]:
    return output_pieces(output, call_for("chat", files=FILES.get, **changes))


@pytest.mark.requirement("L38")
def test_attachments_in_the_form_that_the_model_takes() -> None:
    assert attached("png", "application/octet-stream") == Picture("image/png", PNG_64)
    assert isinstance(attached("webp", "image/webp"), Picture)
    assert isinstance(attached("pdf", "application/pdf"), Paper)
    assert attached("csv", "text/csv") == Words('<file name="my.csv">\na,b\n1,ü\n</file>')
    assert attached("csv", "application/x-odd") == attached("csv", "text/csv")
    for name in ("zip", "nul", "wav"):
        assert "cannot be shown" in attached(name, "application/zip").text  # type: ignore[union-attr]
    assert "cannot be shown" in attached("png", "image/png", BLIND).text  # type: ignore[union-attr]


@pytest.mark.requirement("L38")
def test_an_expired_file_becomes_a_placeholder() -> None:
    assert attached("gone", "image/png") == Words("[The file my.gone is no longer available.]")


@pytest.mark.requirement("L39")
def test_screenshots_are_images_and_a_broken_one_is_its_caption() -> None:
    text = {"type": "text", "text": "Clicked."}

    def image(**fields: Any) -> dict[str, Any]:
        return {"type": "image", "caption": "The desktop", **fields}

    assert shown({"content": [text, image(data=PNG_64)]}) == [
        Words("Clicked."),
        Picture("image/png", PNG_64),
    ]
    assert shown({"content": [image(file_id="png")]}) == [Picture("image/png", PNG_64)]
    caption = [Words("The desktop")]
    assert shown({"content": [image(data="%%%")]}) == caption
    assert shown({"content": [image(data=base64.b64encode(b"text").decode())]}) == caption
    assert shown({"content": [image(file_id="gone")]}) == caption
    assert shown({"content": [image()]}) == caption
    assert shown({"content": [image(data=PNG_64)]}, model=BLIND) == caption
    assert shown({"content": [{"type": "image", "data": "%"}]}) == [Words("[image]")]


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("", EMPTY),
        (" \n", EMPTY),
        ({"content": []}, EMPTY),
        ({"content": [{"type": "text", "text": " "}]}, EMPTY),
        ("ok", "ok"),
        ({"a": [1, None]}, '{"a":[1,null]}'),
        ({"content": "text"}, '{"content":"text"}'),
        ({"content": [1]}, '{"content":[1]}'),
        ({"content": [{"type": "odd", "x": 1}]}, '{"type":"odd","x":1}'),
        (None, "null"),
        ((1, 2), "[1,2]"),
    ],
)
def test_outputs_are_never_blank(output: Any, text: str) -> None:
    assert shown(output) == [Words(text)]


@pytest.mark.requirement("L39")
@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_every_wire_shows_pictures_and_papers(wire: str) -> None:
    screenshot = {"content": [{"type": "image", "data": PNG_64}]}
    asked = user("Look", File("png", "image/png", "p.png"), File("pdf", "application/pdf", "d.pdf"))
    history = [asked, assistant(tool_call("a")), results(tool_result("a", screenshot))]

    sent = body_of(call_for(wire, history, files=FILES.get), endpoint_for(wire))

    spelled = str(sent)
    assert spelled.count(PNG_64) == 2
    assert base64.b64encode(FILES["pdf"]).decode() in spelled
    entries = sent.get("messages") or sent.get("input") or sent["contents"]
    expected: dict[str, Any] = {
        "anthropic": {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": PNG_64},
        },
        "responses": {"type": "input_image", "image_url": f"data:image/png;base64,{PNG_64}"},
        "chat": {
            "type": "image_url",
            "image_url": {"url": f"data:image/png;base64,{PNG_64}"},
        },
        "gemini": {"inlineData": {"mimeType": "image/png", "data": PNG_64}},
    }
    key = "parts" if wire == "gemini" else "content"
    assert expected[wire] in entries[0][key]
