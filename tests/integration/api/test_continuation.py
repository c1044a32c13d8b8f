"""A turn whose provider pauses its reply: the worker asks for the rest by itself."""

from tests.support.replica import API_KEY, Replicas
from tests.support.web import a_cell


async def test_a_gemini_turn_goes_on_after_continuation(empty: Replicas) -> None:
    models = [
        {
            "name": "gemini",
            "vendor": "simulator-gemini",
            "model": "gemini-3-pro-preview",
            "base_url": f"{empty.simulator.url}/v1beta",
            "api_key": API_KEY,
        }
    ]
    async with a_cell(empty, models=models) as cell:
        chat_id = await cell.admin.new_chat('[[sim: say "One. " | stop=pause | then | say "Two."]]')
        chat = await cell.admin.until(chat_id, "idle", "failed")
        page = await cell.admin.get(f"chats/{chat_id}/messages")
    assert chat["status"] == "idle"
    said = [each for each in page.json["data"] if each["role"] == "assistant"]
    texts = [part["text"] for each in said for part in each["parts"] if part["type"] == "text"]
    assert "".join(texts) == "One. Two."
    assert [each["finish_reason"] for each in said] == ["paused", "stop"]
    assert "continuationToken" not in str(page.json)
