// SPDX-License-Identifier: Apache-2.0

// Package pages has the verb that serves the page of package ui over a database.
//
//	root.AddCommand(pages.Command(console)) // kazahana ui --db data
package pages
