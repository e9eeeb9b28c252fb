// SPDX-License-Identifier: Apache-2.0

// Package survey reads which directories a database has, with the types that are stored
// in them and their sizes, for the verbs that show, move and remove directories.
//
//	node, err := survey.Survey{DB: db, Depth: 2, Sizes: true}.Read(ctx, "tenants")
//	total := node.Total // of the directory and all below
package survey
