// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package seed

// onCluster has make replay build the test as this one is built: without the tag it may not be there.
const onCluster = " FDB=1"
