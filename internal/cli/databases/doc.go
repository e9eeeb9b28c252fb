// SPDX-License-Identifier: Apache-2.0

// Package databases is the commands kazahana db: they check, back up, restore and
// show the folders of embedded databases.
package databases
