// SPDX-License-Identifier: Apache-2.0

package mysql

// Migrations are those of the dialect.
var Migrations = dialect.Migrations
