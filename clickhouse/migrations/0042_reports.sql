-- Views for analysts, whose columns stay as they are: docs/sql.md. They leave out addresses, user agents, and names and emails of
-- customers. Events of removed links are left out, as the API does. Conditions on workspace, time and link reach the keys and the
-- projection of a table, because columns of a key are neither converted nor computed. Regular expressions read the payload, because the
-- JSON parser refuses a whole payload when its metadata has an integer of more than 64 bits. Quotes are escaped inside strings, so the first
-- match is always part of the structure, and never of an invoice id or of metadata.
-- On a cluster each shard has the views of its own rows behind a Distributed table, so that it also filters and aggregates them.
CREATE VIEW IF NOT EXISTS report_clicks${local} ${cluster}
(
    workspace_id UInt64 COMMENT 'Workspace, as in report_workspaces',
    timestamp DateTime64(3, 'UTC') COMMENT 'When it happened',
    click_id FixedString(16) COMMENT 'Id of the click, click.id of the API',
    link_id UInt64 COMMENT 'Link, as in report_links',
    trigger LowCardinality(String) COMMENT 'link, qr, pageview or deeplink',
    url String COMMENT 'Destination with its query',
    continent LowCardinality(String) COMMENT 'AF, AN, AS, EU, NA, OC or SA; empty when unknown',
    country LowCardinality(String) COMMENT 'Two letters, or Unknown',
    region LowCardinality(String) COMMENT 'Country and subdivision such as US-CA, or Unknown',
    city String COMMENT 'Name, or Unknown',
    device LowCardinality(String) COMMENT 'Desktop, Mobile, Tablet, Smarttv or Console',
    browser LowCardinality(String) COMMENT 'Name such as Mobile Safari, or Unknown',
    os LowCardinality(String) COMMENT 'Name such as Mac OS, or Unknown',
    referer LowCardinality(String) COMMENT 'Host without www., or (direct)',
    referer_url String COMMENT 'Address without its query, or (direct)',
    utm_source LowCardinality(String) COMMENT 'Parameter of the destination, decoded; empty without one',
    utm_medium LowCardinality(String) COMMENT 'Parameter of the destination, decoded; empty without one',
    utm_campaign LowCardinality(String) COMMENT 'Parameter of the destination, decoded; empty without one',
    utm_term LowCardinality(String) COMMENT 'Parameter of the destination, decoded; empty without one',
    utm_content LowCardinality(String) COMMENT 'Parameter of the destination, decoded; empty without one'
)
AS SELECT
    workspace_id, timestamp, click_id, link_id, trigger, url, continent, country,
    if(e.region = 'Unknown', 'Unknown', concat(e.country, '-', e.region)) AS region,
    city, device, browser, os, referer, referer_url, utm_source, utm_medium, utm_campaign, utm_term, utm_content
FROM click_events${local} AS e
WHERE link_id NOT IN (SELECT id FROM links${local} WHERE deleted = 1);

${distributed:report_clicks:workspace_id}

CREATE VIEW IF NOT EXISTS report_leads${local} ${cluster}
(
    workspace_id UInt64 COMMENT 'Workspace, as in report_workspaces',
    timestamp DateTime64(3, 'UTC') COMMENT 'When it happened',
    event_id FixedString(16) COMMENT 'Id of the lead, eventId of the API',
    event_name LowCardinality(String) COMMENT 'Name that was reported; Erased of an erased person, where no other customer has that name',
    customer_id UInt64 COMMENT 'Customer, as in report_customers, which lacks removed and erased ones',
    link_id UInt64 COMMENT 'Link, as in report_links',
    click_id FixedString(16) COMMENT 'Click that led to it, as in report_clicks',
    click_timestamp DateTime64(3, 'UTC') COMMENT 'When that click happened',
    metadata Nullable(String) COMMENT 'JSON object as it was reported; NULL without one',
    trigger LowCardinality(String) COMMENT 'Of the click: link, qr, pageview or deeplink',
    url String COMMENT 'Of the click: destination with its query',
    continent LowCardinality(String) COMMENT 'Of the click: AF, AN, AS, EU, NA, OC or SA; empty when unknown',
    country LowCardinality(String) COMMENT 'Of the click: two letters, or Unknown',
    region LowCardinality(String) COMMENT 'Of the click: country and subdivision such as US-CA, or Unknown',
    city String COMMENT 'Of the click: name, or Unknown',
    device LowCardinality(String) COMMENT 'Of the click: Desktop, Mobile, Tablet, Smarttv or Console',
    browser LowCardinality(String) COMMENT 'Of the click: name such as Mobile Safari, or Unknown',
    os LowCardinality(String) COMMENT 'Of the click: name such as Mac OS, or Unknown',
    referer LowCardinality(String) COMMENT 'Of the click: host without www., or (direct)',
    referer_url String COMMENT 'Of the click: address without its query, or (direct)',
    utm_source LowCardinality(String) COMMENT 'Of the click: parameter of the destination, decoded; empty without one',
    utm_medium LowCardinality(String) COMMENT 'Of the click: parameter of the destination, decoded; empty without one',
    utm_campaign LowCardinality(String) COMMENT 'Of the click: parameter of the destination, decoded; empty without one',
    utm_term LowCardinality(String) COMMENT 'Of the click: parameter of the destination, decoded; empty without one',
    utm_content LowCardinality(String) COMMENT 'Of the click: parameter of the destination, decoded; empty without one'
)
AS SELECT
    workspace_id, timestamp, event_id, event_name, customer_id, link_id, click_id, click_timestamp,
    nullIf(extract(payload, '(?s)"metadata":(.*),"click":[{]"id":"'), 'null') AS metadata,
    trigger, url, continent, country,
    if(e.region = 'Unknown', 'Unknown', concat(e.country, '-', e.region)) AS region,
    city, device, browser, os, referer, referer_url, utm_source, utm_medium, utm_campaign, utm_term, utm_content
FROM lead_events${local} AS e
WHERE link_id NOT IN (SELECT id FROM links${local} WHERE deleted = 1);

${distributed:report_leads:workspace_id}

CREATE VIEW IF NOT EXISTS report_sales${local} ${cluster}
(
    workspace_id UInt64 COMMENT 'Workspace, as in report_workspaces',
    timestamp DateTime64(3, 'UTC') COMMENT 'When it happened',
    event_id FixedString(16) COMMENT 'Id of the sale, eventId of the API',
    event_name LowCardinality(String) COMMENT 'Name that was reported; Erased of an erased person, where no other customer has that name',
    amount Int64 COMMENT 'Cents of USD; of a sale with another currency, its smallest unit',
    currency LowCardinality(String) COMMENT 'usd; another one if it had no rate, or the sale was imported',
    sale_type LowCardinality(String) COMMENT 'new for the first sale of a customer on a link, else recurring',
    payment_processor LowCardinality(String) COMMENT 'As it was reported: stripe, shopify, polar, paddle, revenuecat or custom',
    invoice_id Nullable(String) COMMENT 'Number that was reported; NULL without one',
    customer_id UInt64 COMMENT 'Customer, as in report_customers, which lacks removed and erased ones',
    link_id UInt64 COMMENT 'Link, as in report_links',
    click_id FixedString(16) COMMENT 'Click that led to it, as in report_clicks',
    click_timestamp DateTime64(3, 'UTC') COMMENT 'When that click happened',
    metadata Nullable(String) COMMENT 'JSON object as it was reported; NULL without one',
    trigger LowCardinality(String) COMMENT 'Of the click: link, qr, pageview or deeplink',
    url String COMMENT 'Of the click: destination with its query',
    continent LowCardinality(String) COMMENT 'Of the click: AF, AN, AS, EU, NA, OC or SA; empty when unknown',
    country LowCardinality(String) COMMENT 'Of the click: two letters, or Unknown',
    region LowCardinality(String) COMMENT 'Of the click: country and subdivision such as US-CA, or Unknown',
    city String COMMENT 'Of the click: name, or Unknown',
    device LowCardinality(String) COMMENT 'Of the click: Desktop, Mobile, Tablet, Smarttv or Console',
    browser LowCardinality(String) COMMENT 'Of the click: name such as Mobile Safari, or Unknown',
    os LowCardinality(String) COMMENT 'Of the click: name such as Mac OS, or Unknown',
    referer LowCardinality(String) COMMENT 'Of the click: host without www., or (direct)',
    referer_url String COMMENT 'Of the click: address without its query, or (direct)',
    utm_source LowCardinality(String) COMMENT 'Of the click: parameter of the destination, decoded; empty without one',
    utm_medium LowCardinality(String) COMMENT 'Of the click: parameter of the destination, decoded; empty without one',
    utm_campaign LowCardinality(String) COMMENT 'Of the click: parameter of the destination, decoded; empty without one',
    utm_term LowCardinality(String) COMMENT 'Of the click: parameter of the destination, decoded; empty without one',
    utm_content LowCardinality(String) COMMENT 'Of the click: parameter of the destination, decoded; empty without one'
)
AS SELECT
    workspace_id, timestamp, event_id, event_name, amount,
    extract(payload, '"paymentProcessor":"[^"]*","currency":"([^"]*)"[}],') AS currency,
    sale_type,
    extract(payload, '"paymentProcessor":"([^"]*)","currency":"[^"]*"[}],') AS payment_processor,
    nullIf(e.invoice_id, '') AS invoice_id,
    customer_id, link_id, click_id, click_timestamp,
    nullIf(extract(payload, '(?s)"metadata":(.*),"click":[{]"id":"'), 'null') AS metadata,
    trigger, url, continent, country,
    if(e.region = 'Unknown', 'Unknown', concat(e.country, '-', e.region)) AS region,
    city, device, browser, os, referer, referer_url, utm_source, utm_medium, utm_campaign, utm_term, utm_content
FROM sale_events${local} AS e
WHERE link_id NOT IN (SELECT id FROM links${local} WHERE deleted = 1);

${distributed:report_sales:workspace_id}

CREATE VIEW IF NOT EXISTS report_link_days${local} ${cluster}
(
    workspace_id UInt64 COMMENT 'Workspace, as in report_workspaces',
    link_id UInt64 COMMENT 'Link, as in report_links',
    day Date COMMENT 'Day of the events, UTC',
    clicks UInt64 COMMENT 'Clicks of the day',
    leads UInt64 COMMENT 'Leads of the day',
    sales UInt64 COMMENT 'Sales of the day',
    sale_amount Int64 COMMENT 'Sum of amount of these sales, whatever their currency'
)
AS SELECT
    workspace_id, link_id, day,
    sum(d.clicks) AS clicks, sum(d.leads) AS leads, sum(d.sales) AS sales, sum(d.sale_amount) AS sale_amount
FROM link_days${local} AS d
WHERE link_id NOT IN (SELECT id FROM links${local} WHERE deleted = 1)
GROUP BY workspace_id, link_id, day;

${distributed:report_link_days:workspace_id}

CREATE VIEW IF NOT EXISTS report_links${local} ${cluster}
(
    workspace_id UInt64 COMMENT 'Workspace, as in report_workspaces',
    link_id UInt64 COMMENT 'Number of the link, as in the events',
    id String COMMENT 'Id of the API, link_…',
    domain String COMMENT 'Host of the short link',
    key String COMMENT 'Path of the short link; _root is the link of the domain itself',
    short_link String COMMENT 'Address of the short link',
    url String COMMENT 'Destination',
    title Nullable(String) COMMENT 'Title, or NULL',
    external_id Nullable(String) COMMENT 'Your own id of the link, or NULL',
    tenant_id Nullable(String) COMMENT 'Your own id of a tenant, or NULL',
    partner_id Nullable(UInt64) COMMENT 'Partner whose link it is, as in report_partners, or NULL',
    archived Bool COMMENT 'Whether it is archived',
    created_at DateTime64(3, 'UTC') COMMENT 'When it was made'
)
AS SELECT
    workspace_id, l.id AS link_id, JSONExtractString(data, 'id') AS id, domain, key,
    concat('https://', domain, if(key = '_root', '', concat('/', key))) AS short_link,
    url,
    JSONExtract(data, 'title', 'Nullable(String)') AS title,
    nullIf(l.external_id, '') AS external_id,
    nullIf(l.tenant_id, '') AS tenant_id,
    nullIf(l.partner_id, 0) AS partner_id,
    archived, created_at
FROM links${local} AS l FINAL;

${distributed:report_links:workspace_id}

CREATE VIEW IF NOT EXISTS report_customers${local} ${cluster}
(
    workspace_id UInt64 COMMENT 'Workspace, as in report_workspaces',
    customer_id UInt64 COMMENT 'Number of the customer, as in the events',
    id String COMMENT 'Id of the API, cus_…',
    external_id String COMMENT 'Your own id of the customer',
    country Nullable(String) COMMENT 'Two letters, or NULL',
    link_id Nullable(UInt64) COMMENT 'Link that brought the customer first, or NULL; it may have been removed',
    clicked_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When the customer first clicked, or NULL',
    created_at DateTime64(3, 'UTC') COMMENT 'When the customer was first reported'
)
AS SELECT
    workspace_id, c.id AS customer_id, JSONExtractString(data, 'id') AS id, external_id,
    nullIf(toString(c.country), '') AS country,
    nullIf(c.link_id, 0) AS link_id,
    parseDateTime64BestEffortOrNull(JSONExtractString(data, 'clickedAt'), 3, 'UTC') AS clicked_at,
    created_at
FROM customers${local} AS c FINAL;

${distributed:report_customers:workspace_id}

CREATE VIEW IF NOT EXISTS report_partners${local} ${cluster}
(
    workspace_id UInt64 COMMENT 'Workspace, as in report_workspaces',
    partner_id UInt64 COMMENT 'Number of the partner, as in report_links',
    id String COMMENT 'Id of the API, pn_…',
    name String COMMENT 'Name',
    tenant_id Nullable(String) COMMENT 'Your own id of the partner, or NULL',
    country Nullable(String) COMMENT 'Two letters, or NULL',
    status LowCardinality(String) COMMENT 'State in the program, such as approved or banned',
    created_at DateTime64(3, 'UTC') COMMENT 'When the partner was enrolled'
)
AS SELECT
    workspace_id, p.id AS partner_id, JSONExtractString(data, 'id') AS id, name,
    nullIf(p.tenant_id, '') AS tenant_id,
    nullIf(toString(p.country), '') AS country,
    status, created_at
FROM partners${local} AS p FINAL;

${distributed:report_partners:workspace_id}

CREATE VIEW IF NOT EXISTS report_workspaces${local} ${cluster}
(
    workspace_id UInt64 COMMENT 'Number of the workspace, as in every view',
    id String COMMENT 'Id of the API, ws_…',
    slug String COMMENT 'Short name',
    plan LowCardinality(String) COMMENT 'Plan, such as business',
    created_at DateTime64(3, 'UTC') COMMENT 'When it was made'
)
AS SELECT w.workspace_id AS workspace_id, JSONExtractString(data, 'id') AS id, slug, plan, created_at
FROM workspaces${local} AS w FINAL;

${distributed:report_workspaces:workspace_id}
