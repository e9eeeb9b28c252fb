// SPDX-License-Identifier: Apache-2.0

// Package sqltest has the tests that the homes of package sqlstore have in common:
// crashes and pauses of the server, connections that are cut, races that a trigger
// causes, and changes of the tables by another program.
package sqltest
