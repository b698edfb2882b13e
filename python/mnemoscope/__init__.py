"""Reads the traces that Mnemoscope writes (``mnemoscope run SESSION --out DIR``, or File > Export trace in the window).

>>> import mnemoscope                                                   # doctest: +SKIP
>>> bundle = mnemoscope.open("out")                                     # doctest: +SKIP
>>> bundle.lanes                                                        # doctest: +SKIP
('OVQ', 'LoLA', 'linear', 'full')
>>> bundle.lane("OVQ").outputs.shape                                    # doctest: +SKIP
(3, 2048, 64)
>>> bundle.lane("LoLA").ragged("candidates")[0][4]                      # doctest: +SKIP
array([  0,   1, ...], dtype=int32)
>>> bundle.table("tokens")                                              # doctest: +SKIP
>>> print(bundle.explain("LoLA.threshold"))                             # doctest: +SKIP

NumPy is needed; pandas (for tables as data frames) and pyarrow (for Parquet) are used where they are there. No part is compiled.
"""

from ._arrays import Arrays, read_safetensors
from ._bundle import Bundle, BundleError, Lane, open

__all__ = ["Arrays", "Bundle", "BundleError", "Lane", "open", "read_safetensors"]
__version__ = "0.1.0"
