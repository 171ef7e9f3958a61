/** Share of the shutdown deadline that work in progress may use. After that, unfinished jobs return to the queue. */
export const CLOSE_SHARE = 0.5;
