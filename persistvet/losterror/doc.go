// SPDX-License-Identifier: Apache-2.0

// Package losterror reports errors of the engine that do not reach the retry loop as what
// they are, because a transaction function ignores, replaces or reformats them:
//
//	value, err := tx.Get(key).Get(ctx)
//	if err != nil {
//		return fmt.Errorf("read the balance: %w", err) // with %v a conflict would end the loop
//	}
//
// An error that is tested first, by errors.Is or a switch, is not reported.
package losterror
