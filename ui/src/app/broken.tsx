import { Button } from "@/kit/button";
import { Blank } from "@/kit/state";
import { words } from "@/words";

/** If something in a page breaks, or a part of it cannot be had, it says so; the list beside it stays. */
export function Broken() {
  return (
    <main className="flex flex-1 items-center justify-center">
      <Blank title={words.chat.crashed}>
        <Button onClick={() => location.reload()}>{words.chat.reload}</Button>
      </Blank>
    </main>
  );
}
