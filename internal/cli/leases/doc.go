// SPDX-License-Identifier: Apache-2.0

// Package leases is the commands kazahana lease: they serve, list, acquire and
// release leases.
package leases
