// Two turns by the package @holdfast/client: the second message is sent while the first turn runs.
import { ask, createClient, EMPTY, followChat, reduce, textOf, unwrap } from "@holdfast/client";
import type { Answer, ChatView, WireEvent } from "@holdfast/client";

const [baseUrl, apiKey, first, second] = process.argv.slice(2) as [string, string, string, string];
const client = createClient({ baseUrl, apiKey });

const receipt = await unwrap(
  client.POST("/api/v1/chats", { body: { message: { text: first }, tools: [] } }),
);
const answer: Answer = await ask(client, receipt.chat_id, second);

let view: ChatView = EMPTY;
await new Promise<void>((resolve, reject) => {
  const stream = followChat(client, answer.chatId, {
    onView: (_, event: WireEvent) => {
      view = reduce(view, event);
      if (!event.final) return;
      stream.stop();
      resolve();
    },
    onRefused: (status) => reject(new Error(`refused with ${status}`)),
  });
});

const texts = view.messages.map((message) => textOf(message.parts));
console.log(JSON.stringify({ status: answer.status, text: answer.text, texts }));
