// SPDX-License-Identifier: Apache-2.0

// Package databases has the commands kazahana db, which check, back up, restore and
// show the folders of embedded databases.
package databases
