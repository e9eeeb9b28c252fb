// SPDX-License-Identifier: Apache-2.0

// Package stats has the command kazahana stats: the numbers of a database.
package stats
