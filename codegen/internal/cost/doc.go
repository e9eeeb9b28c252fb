// SPDX-License-Identifier: Apache-2.0

// Package cost prints what each generated method costs in reads, ranges and writes.
package cost
