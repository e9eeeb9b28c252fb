// SPDX-License-Identifier: Apache-2.0

// Package snippets checks what texts say of the code. [Checker] checks the Go code in the project's
// pages: each block is an excerpt of a program of the repository, or is type-checked. [Names] checks
// the names in comments, and those between backquotes in pages: kv.CodeTransactionTooLarge, TransactionOptions, [Page].
// A name that is two words in one, or has its package, must be one of the code's.
//
//	page := snippets.Parse("docs/tags.md", text)
//	checker, err := snippets.Load(root, page)
//	for _, fault := range checker.Check(page) { … } // docs/tags.md:12:3: undefined: orders
//
// A comment before a block says what it is:
//
//	<!-- from: examples/visits/main.go -->   each of its paragraphs is in that file
//	<!-- not compiled: REASON -->            it is not checked
//
// Any other block is a list of declarations, or statements of a function that returns an
// error; "…" stands for what is left out, and unused variables are not a fault. What a block
// uses of the text around it is declared in a comment that holds for the rest of the page,
// or up to the next one. Imports are found by the names of packages.
//
//	<!-- prelude: var orders *quickstart.OrderStore -->
//	<!-- prelude
//	var orders *quickstart.OrderStore
//	-->
package snippets
