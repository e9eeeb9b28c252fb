// SPDX-License-Identifier: Apache-2.0

// Package api names the types and functions by which the analyzers recognise
// transactions: those of Kazahana and of FoundationDB's Go binding.
//
//	if api.IsTransaction(pass.TypesInfo.TypeOf(arg)) {
//		// arg is a kv.Transaction, a persistable.Tx, an fdb.Transaction, …
//	}
//	if fn := api.Callee(pass.TypesInfo, call); api.Loops.Has(fn) {
//		// call runs its last argument again after a conflict
//	}
//
// Every name is in a [Set]. A test looks each of them up in the real packages.
package api
