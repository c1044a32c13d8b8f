// A turn by the client that openapi-typescript and openapi-fetch make of openapi.json.
import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

const [baseUrl, key, text] = process.argv.slice(2) as [string, string, string];
const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${key}` } });

function answered<T>(answer: { data?: T; error?: unknown }): T {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

const made = answered(await client.POST("/api/v1/chats", { body: { message: { text } } }));
const params = { path: { chat_id: made.chat_id } };
for (;;) {
  const chat = answered(await client.GET("/api/v1/chats/{chat_id}", { params }));
  if (chat.status === "idle") break;
  await new Promise((resolve) => setTimeout(resolve, 50));
}
const page = await client.GET("/api/v1/chats/{chat_id}/messages", { params });
console.log(JSON.stringify(answered(page)));
