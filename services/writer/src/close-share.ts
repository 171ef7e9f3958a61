/** Work under way when a stop is asked for gets this share of the deadline; its jobs then go back into the queue. */
export const CLOSE_SHARE = 0.5;
