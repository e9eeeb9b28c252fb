// SPDX-License-Identifier: Apache-2.0

package spread

// D has nothing to count.
func (Wide) D() {}
