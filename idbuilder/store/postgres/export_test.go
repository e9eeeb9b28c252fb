// SPDX-License-Identifier: Apache-2.0

package postgres

// Migrations are those of the dialect.
var Migrations = dialect.Migrations
