// SPDX-License-Identifier: Apache-2.0

import Theme from 'vitepress/theme-without-fonts' // the system's fonts: nothing to load
import './site.css'

export default Theme
