// SPDX-License-Identifier: Apache-2.0
// Node's openai package: one answer whole, one as a stream, one by the other API.
import OpenAI from "openai";

const client = new OpenAI();
const asked = { model: "m", messages: [{ role: "user", content: "the first word" }] };
const whole = await client.chat.completions.create({ ...asked, seed: 21 });
let text = "";
for await (const chunk of await client.chat.completions.create({ ...asked, seed: 22, stream: true })) {
  text += chunk.choices[0]?.delta?.content ?? "";
}
const other = await client.responses.create({ model: "m", input: "the first word" });
console.log(JSON.stringify([whole.choices[0].message.content, text, other.output_text]));
