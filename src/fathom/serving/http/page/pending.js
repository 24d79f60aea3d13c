// The question that is being answered, stored in this tab, so that a reload does not lose it.

const PENDING = "fathom.pending";

/** Store a question until `removePending()`: its conversation (null without one), request and number of earlier turns. */
export const storePending = (pending) => sessionStorage.setItem(PENDING, JSON.stringify(pending));

export const removePending = () => sessionStorage.removeItem(PENDING);

/** Return the stored question of a conversation, and forget it; null if there is none. */
export function takePending(conversation) {
  const pending = JSON.parse(sessionStorage.getItem(PENDING) ?? "null");
  if (pending?.conversation !== conversation) return null;
  removePending();
  return pending;
}
