// SPDX-License-Identifier: Apache-2.0

package mysql

import "github.com/kazahana-db/kazahana/idbuilder/store/internal/sqlstore"

var dialect = sqlstore.Dialect{
	Name:   "mysql",
	Schema: "DATABASE()",
	Create: `INSERT INTO id_documents (kind, doc_key, value, expires_at, version)
		SELECT ?, ?, ?, ?, LAST_INSERT_ID(value + 1) FROM id_state WHERE name = 'floor' AND ` + sqlstore.Guard + ` LOCK IN SHARE MODE`,
	Advance: `UPDATE id_state SET value = LAST_INSERT_ID(value + 1) WHERE name = 'revision' AND ` + sqlstore.Guard,
	Migrations: []sqlstore.Migration{
		{Description: "sequences, configurations, locks, versions, documents, state", Statements: initial},
	},
	Columns: []string{
		"id_sequences key_name varchar", "id_sequences current_value bigint", "id_sequences version bigint",
		"id_configs key_name varchar", "id_configs id_type varchar", "id_configs config_json json|longtext",
		"distributed_locks lock_key varchar", "distributed_locks owner_id varchar",
		"schema_versions version int", "schema_versions description varchar",
		"id_documents kind varchar", "id_documents doc_key varchar", "id_documents version bigint", "id_documents value json|longtext",
		"id_state name varchar", "id_state value bigint",
	},
}

// table ends the definition of a table. {collation} becomes one that compares
// bytes and does not ignore spaces at the end; its name differs between servers.
const table = ` ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE {collation}`

// initial makes the tables.
var initial = []string{
	`CREATE TABLE IF NOT EXISTS distributed_locks (
		lock_key VARCHAR(255) NOT NULL,
		owner_id VARCHAR(255) NOT NULL,
		expires_at TIMESTAMP NOT NULL,
		created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
		PRIMARY KEY (lock_key))` + table,
	`CREATE TABLE IF NOT EXISTS schema_versions (
		id INT NOT NULL AUTO_INCREMENT,
		version INT NOT NULL,
		applied_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
		description VARCHAR(500) NULL DEFAULT NULL,
		PRIMARY KEY (id), UNIQUE INDEX idx_version (version))` + table,
	`CREATE TABLE IF NOT EXISTS id_sequences (
		id BIGINT NOT NULL AUTO_INCREMENT,
		key_name VARCHAR(255) NOT NULL,
		current_value BIGINT NOT NULL DEFAULT 0,
		version BIGINT NOT NULL DEFAULT 0,
		created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
		updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
		PRIMARY KEY (id), UNIQUE INDEX idx_key_name (key_name))` + table,
	`CREATE TABLE IF NOT EXISTS id_configs (
		id BIGINT NOT NULL AUTO_INCREMENT,
		key_name VARCHAR(255) NOT NULL,
		id_type VARCHAR(50) NOT NULL,
		config_json JSON NOT NULL,
		created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
		updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
		PRIMARY KEY (id), UNIQUE INDEX idx_configs_key (key_name))` + table,
	`CREATE TABLE IF NOT EXISTS id_documents (
		kind VARCHAR(32) NOT NULL,
		doc_key VARCHAR(255) NOT NULL,
		version BIGINT NOT NULL,
		value JSON NULL,
		expires_at DATETIME(6) NULL,
		created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
		updated_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
		PRIMARY KEY (kind, doc_key), INDEX idx_documents_expires (expires_at))` + table,
	`CREATE TABLE IF NOT EXISTS id_state (
		name VARCHAR(32) NOT NULL,
		value BIGINT NOT NULL,
		PRIMARY KEY (name))` + table,
	`INSERT INTO id_state (name, value) VALUES ('revision', 0)`,
	`INSERT INTO id_state (name, value) VALUES ('floor', 0)`,
}
