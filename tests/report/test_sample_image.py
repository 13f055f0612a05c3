import base64
import io

import numpy as np
from matplotlib import image

from fsnn_lava.report.sample_image import image_url


def test_a_picture_keeps_its_pixels():
    """A dark image stays dark: grey values are not stretched."""
    pixels = np.array([[10, 20], [30, 40]], np.uint8)
    content = base64.b64decode(image_url(pixels).removeprefix("data:image/png;base64,"))
    np.testing.assert_allclose(image.imread(io.BytesIO(content))[..., 0] * 255, pixels, atol=0.5)
