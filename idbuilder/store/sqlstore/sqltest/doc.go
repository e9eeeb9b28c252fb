// SPDX-License-Identifier: Apache-2.0

// Package sqltest has the tests that the homes of package sqlstore have in
// common: crashes and pauses of the server, connections that are cut, races that
// a trigger arranges, and what another program has done to the tables.
package sqltest
