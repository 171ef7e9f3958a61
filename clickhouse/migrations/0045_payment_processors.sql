-- The comment of 0042 had six of the nine.
ALTER TABLE report_sales ${cluster}
    COMMENT COLUMN payment_processor 'As it was reported: stripe, shopify, polar, paddle, revenuecat, apple, lemonsqueezy, dub or custom';
