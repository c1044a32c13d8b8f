/** Where unsent messages are kept: IndexedDB, or, where the browser has none, nowhere. */
import { type DBSchema, type IDBPDatabase, openDB } from "idb";
import type { Unsent } from "./outbox";

export interface OutboxStorage {
  all(): Promise<readonly Unsent[]>;
  put(message: Unsent): Promise<void>;
  delete(clientKey: string): Promise<void>;
  clear(): Promise<void>;
}

interface Schema extends DBSchema {
  messages: { key: string; value: Unsent };
}

/** One database for each path prefix: two servers behind one origin do not share messages. */
export function indexedDbStorage(prefix: string): OutboxStorage {
  let opened: Promise<IDBPDatabase<Schema>> | null = null;
  const database = () => {
    opened ??= openDB<Schema>(`holdfast.outbox${prefix}`, 1, {
      upgrade: (db) => void db.createObjectStore("messages", { keyPath: "clientKey" }),
    });
    return opened;
  };
  return {
    all: async () => (await database()).getAll("messages"),
    put: async (message) => void (await (await database()).put("messages", message)),
    delete: async (clientKey) => (await database()).delete("messages", clientKey),
    clear: async () => (await database()).clear("messages"),
  };
}
