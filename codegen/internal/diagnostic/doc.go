// SPDX-License-Identifier: Apache-2.0

// Package diagnostic collects the faults and notes that the phases of persistgen find in the
// source, each with its position. It imports no other phase.
package diagnostic
