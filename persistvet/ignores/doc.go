// SPDX-License-Identifier: Apache-2.0

// Package ignores checks the comments that silence findings of the other analyzers:
//
//	//persistvet:ignore outsidetx the message must be logged even if the order fails
//	audit.Create(ctx, entry)
//
// A comment without a reason, for an unknown analyzer, or that silences nothing is a
// finding itself.
package ignores
