"""The golden scenario over two steps: what was received is replayed, and the replay is accepted.

The replay is also refused where it should be: a changed signature, a draft instead of its item.
"""

import copy

from holdfast_simulator.asked import WireName
from holdfast_simulator.server import Simulator
from tests.support.raw_http import Json, Outcome, post
from tests.support.simulator import KEYS, PATHS, body

A, R, C, G = WireName.ANTHROPIC, WireName.RESPONSES, WireName.CHAT, WireName.GEMINI
GOLDEN = {"x-sim-scenario": "golden"}


async def ask(simulator: Simulator, wire: WireName, given: Json) -> Outcome:
    return await post(simulator.url, PATHS[wire], given, KEYS[wire] | GOLDEN)


async def test_anthropic(simulator: Simulator) -> None:
    given = body(A, "weather?", stream=False, tools=True)
    message = (await ask(simulator, A, given)).json()
    used = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
    assert len(set(used)) == 2
    results = [{"type": "tool_result", "tool_use_id": name, "content": "ok"} for name in used]
    given["messages"] += [
        {"role": "assistant", "content": message["content"]},
        {"role": "user", "content": results},
    ]
    final = (await ask(simulator, A, given)).json()
    assert final["stop_reason"] == "end_turn"
    assert "São Paulo" in final["content"][-1]["text"]
    spoilt = copy.deepcopy(given)
    spoilt["messages"][1]["content"][0]["thinking"] += "!"
    assert "Invalid `signature`" in (await ask(simulator, A, spoilt)).json()["error"]["message"]


async def test_responses(simulator: Simulator) -> None:
    given = body(R, tools=True) | {"store": False}
    given["input"] = [{"role": "user", "content": "weather?"}]
    stream = (await ask(simulator, R, given)).data()
    items = stream[-1]["response"]["output"]
    calls = [item["call_id"] for item in items if item["type"] == "function_call"]
    results = [{"type": "function_call_output", "call_id": c, "output": "ok"} for c in calls]
    following = given | {"input": [*given["input"], *items, *results]}
    final = (await ask(simulator, R, following)).data()[-1]["response"]
    assert final["status"] == "completed"
    assert "São Paulo" in final["output"][-1]["content"][0]["text"]
    draft = next(e["item"] for e in stream if e["type"] == "response.output_item.added")
    wrong = given | {"input": [*given["input"], draft, *items[1:], *results]}
    error = (await ask(simulator, R, wrong)).json()["error"]
    assert error["code"] == "invalid_encrypted_content"
    bare = [item for item in items if item["type"] != "reasoning"]
    stored = given | {"store": True, "input": [*given["input"], *bare, *results]}
    error = (await ask(simulator, R, stored)).json()["error"]
    assert "without its required 'reasoning' item" in error["message"]


async def test_chat(simulator: Simulator) -> None:
    given = body(C, "weather?", stream=False, tools=True)
    message = (await ask(simulator, C, given)).json()["choices"][0]["message"]
    calls = [call["id"] for call in message["tool_calls"]]
    results = [{"role": "tool", "tool_call_id": name, "content": "ok"} for name in calls]
    following = given | {"messages": [*given["messages"], message, *results]}
    final = (await ask(simulator, C, following)).json()
    assert final["choices"][0]["finish_reason"] == "stop"
    assert "São Paulo" in final["choices"][0]["message"]["content"]


async def test_gemini(simulator: Simulator) -> None:
    given = body(G, "weather?", tools=True)
    chunks = (await ask(simulator, G, given)).data()
    parts = [part for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]]
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    results = [
        {"functionResponse": {"name": call["name"], "response": {"result": "ok"}}} for call in calls
    ]
    model = {"role": "model", "parts": [part for part in parts if part.get("text") != ""]}
    given["contents"] += [model, {"role": "user", "parts": results}]
    final = (await ask(simulator, G, given)).data()
    assert final[-1]["candidates"][0]["finishReason"] == "STOP"
    spoilt = copy.deepcopy(given)
    for part in spoilt["contents"][1]["parts"]:
        part.pop("thoughtSignature", None)
    error = (await ask(simulator, G, spoilt)).json()["error"]
    assert "missing a thought_signature" in error["message"]
