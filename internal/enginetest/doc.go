// SPDX-License-Identifier: Apache-2.0

// Package enginetest is where tests get a FoundationDB cluster from:
//
//	open := enginetest.Whole(t) // the cluster that FDB_CLUSTER_FILE names; it must be empty
//	db := open(t)
//
// With -tags foundationdb such tests fail where that variable is not set.
package enginetest
