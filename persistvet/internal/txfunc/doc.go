// SPDX-License-Identifier: Apache-2.0

// Package txfunc finds the functions of a package that run in a transaction: those that
// are passed to Transact and its like, and those that take a transaction.
//
//	functions := pass.ResultOf[txfunc.Analyzer].(txfunc.Functions)
//	for _, f := range functions {
//		for c := range f.Cursor.Preorder((*ast.CallExpr)(nil)) {
//			// c is a call in f; if f.Root, a retry repeats it
//		}
//	}
package txfunc
