// SPDX-License-Identifier: Apache-2.0

// Package leases has the commands kazahana lease, which serve, list, acquire and
// release leases.
package leases
