// SPDX-License-Identifier: Apache-2.0

//go:build !foundationdb

package seed

// onCluster is what make replay needs for a test on a cluster.
const onCluster = ""
