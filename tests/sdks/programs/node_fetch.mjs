// SPDX-License-Identifier: Apache-2.0
// Node's own fetch: one answer whole, one as a stream.
const url = process.env.OPENAI_BASE_URL + "/chat/completions";
const headers = { authorization: `Bearer ${process.env.OPENAI_API_KEY}`, "content-type": "application/json" };
const asked = { model: "m", messages: [{ role: "user", content: "the first word" }] };

async function post(body) {
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
  return answer;
}

const whole = (await (await post({ ...asked, seed: 11 })).json()).choices[0].message.content;
let text = "";
for (const line of (await (await post({ ...asked, seed: 12, stream: true })).text()).split("\n")) {
  if (!line.startsWith("data: ") || line === "data: [DONE]") continue;
  text += JSON.parse(line.slice(6)).choices[0]?.delta?.content ?? "";
}
console.log(JSON.stringify([whole, text]));
