# transferscope in a container. Results, studies and data lie in the folder that is mounted at /work:
#
#     docker build -t transferscope --build-arg TORCH_INDEX_URL=INDEX_OF_CPU_BUILDS .
#     docker run --rm -v "$PWD":/work transferscope compare glyphs digits --labels 50
#
# TORCH_INDEX_URL is the index of PyTorch's CPU builds (its installation page names it). Without it the image takes the
# build of the usual index, which on Linux brings CUDA with it: run that one with `docker run --gpus all`. The CUDA image has
# not been tested.
FROM python:3.12-slim

ARG TORCH_INDEX_URL=""
ARG EXTRAS="hf,parquet,papers,postgresql"

WORKDIR /src
COPY constraints.txt ./
RUN pip install --no-cache-dir ${TORCH_INDEX_URL:+--index-url "$TORCH_INDEX_URL"} "$(cat constraints.txt | grep '^torch==')"
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir -c constraints.txt ".[${EXTRAS}]" && rm -rf /src

ENV TRANSFERSCOPE_CACHE=/cache \
    MPLCONFIGDIR=/tmp/matplotlib \
    PYTHONUNBUFFERED=1
RUN useradd --create-home user && mkdir /cache /work && chown user /cache /work
USER user
WORKDIR /work
VOLUME ["/cache"]
ENTRYPOINT ["transferscope"]
CMD ["--help"]
